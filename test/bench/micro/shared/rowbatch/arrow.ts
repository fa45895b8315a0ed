/** Encoding and decoding of row batches: `npm run bench -- micro`. */
import { decodeRowBatch, encodeRowBatch } from '#shared/rowbatch/arrow';

import { integerBatch } from '../../batches.js';
import { measure } from '../../measure.js';

for (const rowCount of [100, 5_000]) {
  const batch = integerBatch(rowCount);
  const encoded = encodeRowBatch(batch);
  await measure(`arrow: encode ${rowCount} rows x 10`, 'rows', rowCount, () => encodeRowBatch(batch));
  // A copy, because a batch that was encoded in this process is returned without decoding.
  const foreign = encoded.slice();
  await measure(`arrow: decode ${rowCount} rows x 10`, 'rows', rowCount, () => decodeRowBatch(foreign));
}

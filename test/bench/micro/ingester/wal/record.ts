/** Encoding, sealing and decoding of log records: `npm run bench -- micro`. */
import { decodeRecord, encodeRecord, sealRecord } from '#services/ingester/wal/record';
import { encodeRowBatch } from '#shared/rowbatch/arrow';
import { NO_DEFINITIONS } from '#shared/rowbatch/definitions';

import { integerBatch } from '../../batches.js';
import { measure } from '../../measure.js';

for (const rowCount of [100, 5_000]) {
  const batch = encodeRowBatch(integerBatch(rowCount));
  const header = {
    ...{ batchId: new Uint8Array(16), tableId: 1, regionId: 1, epoch: 1, schemaVersion: 1 },
    ...{ sequenceFrom: 0n, rowCount, firstSid: 0 },
  };
  const sealed = (): Uint8Array[] => {
    const parts = encodeRecord(header, NO_DEFINITIONS, batch);
    sealRecord(parts, 0);
    return parts;
  };
  const bytes = Buffer.concat(sealed());
  await measure(`log record: encode and seal ${rowCount} rows`, 'rows', rowCount, sealed);
  await measure(`log record: verify and decode ${rowCount} rows`, 'rows', rowCount, () => decodeRecord(bytes, 0));
}

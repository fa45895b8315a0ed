/** Encoding of small results: `npm run bench -- micro`. */
import { jsonFormat } from '#shared/formats/json';
import type { OutputColumn } from '#shared/formats/format';

import { measure } from '../../measure.js';

const ROWS = 1_000;
const columns: readonly OutputColumn[] = [
  { name: 'host', type: { name: 'String', kind: 'text' } },
  { name: 'time', type: { name: 'TimestampMillisecond', kind: 'int' } },
  { name: 'value', type: { name: 'Float64', kind: 'float64' } },
];
const rows = Array.from({ length: ROWS }, (_, i) => i);
const cells = [rows.map((i) => `host_${i}`), rows.map((i) => BigInt(1_700_000_000_000 + i)), rows.map(Math.sqrt)];
await measure('json: rows of text, time and double', 'rows', ROWS, () => jsonFormat.encodeRows(columns, cells, ROWS));

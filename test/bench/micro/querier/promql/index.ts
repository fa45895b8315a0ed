/** Evaluation of PromQL over samples in memory: `npm run bench -- micro`. */
import { runPromql, series } from '#test/support/promql-source';

import { measure } from '../../measure.js';

const SERIES = 500;
const STEPS = 241;
const samples = Array.from({ length: 300 }, (_, i) => i * 3);
const all = Array.from({ length: SERIES }, (_, i) => series('m', { host: `h${i}`, zone: `z${i % 10}` }, samples));
const times = { atS: 3_600, endS: 3_600 + 60 * (STEPS - 1), stepS: 60 };
for (const query of [
  'm',
  'rate(m[5m])',
  'sum by (zone) (rate(m[5m]))',
  'max_over_time(m[10m])',
  'topk(5, m)',
  'm + m',
]) {
  await measure(`promql: ${query}`, 'series steps', SERIES * STEPS, () => runPromql(all, query, times));
}

/** Tokens of SQL: `npm run bench -- micro`. */
import { lexSql } from '#services/querier/sql/syntax/lex';

import { measure } from '../../../measure.js';

const query =
  "SELECT date_trunc('minute', almanac_timestamp) AS t, max(usage_user) FROM cpu WHERE hostname IN ('host_1', 'host_2') " +
  "AND almanac_timestamp >= '2024-01-01 00:00:00' AND almanac_timestamp < '2024-01-01 01:00:00' GROUP BY t ORDER BY t";
const insert = `INSERT INTO t VALUES ${Array.from({ length: 1_000 }, (_, i) => `(${i}, 'host_${i}', ${i / 7})`).join()}`;
await measure('sql tokens: a query', 'characters', query.length, () => lexSql(query));
await measure('sql tokens: an INSERT of 1,000 rows', 'characters', insert.length, () => lexSql(insert));

import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UTC } from '#shared/time/zone';

import { lexSql } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { hasRanges, rewriteRanges } from './rewrite-ranges.js';

/** Stands for every table: an earlier statement of the request may create the real one. */
const PLACEHOLDER: Table = {
  ...{ tableId: 0, databaseId: 0, database: '', name: '', schemaVersion: 0, options: {}, regions: [], createdMs: 0 },
  primaryKey: [],
  ttl: '',
  columns: [
    {
      id: 1,
      name: 'ts',
      type: 'TimestampMillisecond',
      kind: 'time',
      ...{ nullable: false, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] },
    },
  ],
};

/**
 * Checks the grammar of range queries and returns ordinary SQL with the same grammar in the remaining clauses.
 *
 * @throws `invalid_syntax`.
 */
export async function checkRanges(query: QueryText): Promise<QueryText> {
  if (!hasRanges(query)) return query;
  try {
    const find = () => Promise.resolve(PLACEHOLDER);
    return (await rewriteRanges(query, { nowNs: 0n, zone: UTC, find })).query;
  } catch (error) {
    if (!(error instanceof AlmanacError) || error.code === 'invalid_syntax') throw error;
    // Errors that depend on tables are reported when the statement runs.
    const tokens = lexSql('SELECT 1');
    return { tokens, from: 0, to: tokens.count };
  }
}

import type { IndexKind } from '#shared/schema/column-indexes';
import { indexOptions } from '#shared/schema/column-indexes';

/** How the terms of a column are indexed (spec: sql, FULLTEXT INDEX). */
export interface TermIndexOptions {
  /** `bloom`: blocks of rows that may have a term; `inverted`: the rows that have it. */
  readonly kind: 'bloom' | 'inverted';
  readonly isCaseSensitive: boolean;
  /** Rows of a block; whole row groups. */
  readonly blockRows: number;
  readonly falsePositiveRate: number;
}

/** Rows of a row group of a segment: fewer cannot be read. */
const ROW_GROUP_ROWS = 20_480;
/** Larger blocks select nothing, and their terms are all held in memory. */
const BLOCK_ROWS_MAX = 20 * ROW_GROUP_ROWS;

/** Returns how the terms of a column are indexed; undefined if they are not. */
export function termIndexOptions({
  indexes,
}: {
  readonly indexes: readonly { readonly kind: string; readonly options: Readonly<Record<string, string>> }[];
}): TermIndexOptions | undefined {
  const kind: IndexKind = 'FULLTEXT';
  const index = indexes.find((it) => it.kind === kind);
  if (index === undefined) return undefined;
  const options = indexOptions(kind, index.options);
  return {
    kind: options['backend'] === 'bloom' ? 'bloom' : 'inverted',
    isCaseSensitive: options['case_sensitive'] === 'true',
    blockRows: Math.min(BLOCK_ROWS_MAX, Math.ceil(Number(options['granularity']) / ROW_GROUP_ROWS) * ROW_GROUP_ROWS),
    falsePositiveRate: Number(options['false_positive_rate']),
  };
}

import type { ResultFormat } from './format.js';

/** The format `null`: how many rows there are, and how long it took. */
export const countFormat: ResultFormat = {
  names: ['null'],
  contentType: 'text/plain; charset=utf-8',
  isSingle: true,
  separator: '',
  head: () => '',
  tail: (rowCount) => `${rowCount} rows in set.\n`,
  affected: (rowCount) => `${rowCount} rows affected.\n`,
  end: (_resultCount, elapsedMs) => `Elapsed: ${(elapsedMs / 1000).toFixed(3)} sec.\n`,
  encodeRows: () => '',
  rowSql: () => `''`,
};

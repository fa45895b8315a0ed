import { conflictingRows, type ColumnConflict, type RejectedRow } from '#shared/write/writer-types';

/** Longest texts of one request together: enough for a reply. Further malformed rows are only counted. */
const TEXT_CHARACTERS_MAX = 8 * 1024;

/** Rows of a request that its decoder rejected, and why. */
export class RejectedRows {
  /** Lines or items that are malformed. */
  malformedCount = 0;
  /** Why the first malformed ones were rejected, in order of the body. */
  readonly texts: string[] = [];
  readonly #conflicts = new Map<string, { row: RejectedRow; rowCount: number }>();
  #characters = 0;

  /** Rows that are well-formed, but have a value of another type than an earlier row; by column. */
  get conflicts(): readonly RejectedRow[] {
    return [...this.#conflicts.values()].map(({ row, rowCount }) => ({ ...row, rowCount }));
  }

  /** @param describe makes the text; not called if the texts are long enough already. */
  addMalformed(describe: () => string): void {
    this.malformedCount++;
    if (this.#characters >= TEXT_CHARACTERS_MAX) return;
    const text = describe();
    this.texts.push(text);
    this.#characters += text.length;
  }

  /** Adds one row whose value for a column has another type than an earlier one. */
  addConflict(table: string, conflict: ColumnConflict): void {
    const { column, given, existing } = conflict;
    const key = `${given} ${existing} ${table.length} ${table}${column}`;
    const known = this.#conflicts.get(key);
    if (known === undefined) this.#conflicts.set(key, { row: conflictingRows(table, conflict, 1), rowCount: 1 });
    else known.rowCount++;
  }
}

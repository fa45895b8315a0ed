/** The words of one refusal: `unable to parse 'LINE': REASON`. */
const LINE_BYTES_MAX = 256;
/** Enough for an answer; what comes after is only counted. */
const TEXT_BYTES_MAX = 8 * 1024;

/** Rows that a column's type kept out. */
export interface TypeConflict {
  readonly table: string;
  readonly field: string;
  /** Native types. */
  readonly given: string;
  readonly existing: string;
  rowCount: number;
}

/** Lines of a request that were not taken, and why. */
export class Rejections {
  /** Lines that are malformed. */
  lineCount = 0;
  /** Points that are well-formed, but whose field has another type than one before. */
  readonly conflicts: TypeConflict[] = [];
  readonly #texts: string[] = [];
  readonly #conflictByColumn = new Map<string, TypeConflict>();
  #textBytes = 0;

  /** The refusals in the order of the lines, as many as an answer has room for. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  addLine(bytes: Buffer, from: number, to: number, reason: string): void {
    this.lineCount++;
    if (this.#textBytes >= TEXT_BYTES_MAX) return;
    const text = `unable to parse '${lineText(bytes, from, to)}': ${reason}`;
    this.#texts.push(text);
    this.#textBytes += text.length;
  }

  addConflict(table: string, field: string, given: string, existing: string): void {
    const key = `${given} ${existing} ${table.length} ${table}${field}`;
    let conflict = this.#conflictByColumn.get(key);
    if (conflict === undefined) {
      conflict = { table, field, given, existing, rowCount: 0 };
      this.#conflictByColumn.set(key, conflict);
      this.conflicts.push(conflict);
    }
    conflict.rowCount++;
  }
}

function lineText(bytes: Buffer, from: number, to: number): string {
  if (to - from <= LINE_BYTES_MAX) return bytes.toString('utf8', from, to);
  let end = from + LINE_BYTES_MAX;
  // Not in the middle of a character: its later bytes are 10xxxxxx.
  while (end > from && (bytes[end] & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', from, end);
}

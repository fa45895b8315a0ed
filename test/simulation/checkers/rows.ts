/** Name of the time index. */
export const TIME_COLUMN = 'time';
/** The field that identifies a row. */
export const NUMBER = 'n';
/** Type of the time index. */
export const TIME_TYPE = 'TimestampNanosecond';

/** A table of the simulation. */
export interface TableKind {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
  readonly isAppendOnly: boolean;
}

/** A row to be written; every value is unique in the simulation. */
export interface WriteRow {
  readonly host: string;
  readonly timeNs: bigint;
  readonly fields: Readonly<Record<string, number>>;
}

/** A row as a read returns it. */
export type ReadRow = WriteRow;

/** What is known about one request of a client. */
export interface Attempt {
  readonly id: number;
  readonly rows: readonly WriteRow[];
  readonly startMs: number;
  /** When it was acknowledged; Infinity: not yet. */
  endMs: number;
  /**
   * From when on it cannot take effect any more. A copy that was sent under another batch id, without a reply, may
   * never arrive.
   */
  settledMs: number;
  /** For deletions, whose rows are only keys: whether a row is deleted. Undefined: the request writes its rows. */
  readonly deletes?: (row: WriteRow) => boolean;
}

/** A statement that removes rows: all that were acknowledged before it started, and some of the concurrent ones. */
export interface Eraser {
  readonly fromMs: number;
  /** When it was acknowledged; Infinity: it was not, and may still take effect. */
  toMs: number;
  /**
   * From when on no row is acknowledged that it removes: when it was acknowledged; if an unreachable owner was skipped,
   * not before every writer knows of the drop. Infinity until then.
   */
  settledMs: number;
  readonly kind: 'truncate' | 'drop';
}

/** Everything that was sent to a table, and what was read. */
export interface History {
  readonly attempts: Attempt[];
  readonly erasers: Eraser[];
  /** When a read first showed a row, by its number: from then on it must not vanish. */
  readonly seenMs: Map<number, number>;
}

/** A read, from its start to its result. */
export interface ReadTime {
  readonly fromMs: number;
  readonly toMs: number;
  /** Fields that the table had for this read; later ones are not in it. */
  readonly fields: ReadonlySet<string>;
}

/** Returns what a read with these fields shows of a row. */
export function seenBy(row: WriteRow, { fields }: ReadTime): WriteRow {
  return { ...row, fields: Object.fromEntries(Object.entries(row.fields).filter(([name]) => fields.has(name))) };
}

/** A row of a request. */
export interface Version {
  readonly attempt: Attempt;
  readonly row: WriteRow;
}

/** Returns whether a read must show a row, unless newer versions hide it. */
export function isRequired({ attempt, row }: Version, { erasers, seenMs }: History, read: ReadTime): boolean {
  const seenAtMs = attempt.deletes !== undefined ? Infinity : (seenMs.get(numberOf(row)) ?? Infinity);
  const doneMs = Math.min(attempt.endMs, seenAtMs);
  if (doneMs > read.fromMs) return false;
  return !erasers.some((it) => it.fromMs <= read.toMs && it.settledMs >= attempt.startMs);
}

/** Returns whether a read may show the rows of a request. */
export function isAllowed(attempt: Attempt, { erasers }: History, read: ReadTime): boolean {
  if (attempt.startMs > read.toMs) return false;
  return !erasers.some((it) => it.toMs <= read.fromMs && attempt.settledMs <= it.fromMs);
}

/** Records which rows a read has shown. */
export function noteSeen(rows: readonly ReadRow[], { seenMs }: History, read: ReadTime): void {
  for (const row of rows) {
    // Fields of one row may come from several versions.
    for (const number of Object.values(row.fields)) if (!seenMs.has(number)) seenMs.set(number, read.toMs);
  }
}

/** Every value of a row is its number. */
function numberOf({ fields }: WriteRow): number {
  return Object.values(fields)[0];
}

/** Returns the key of a row as text. */
export function keyOf({ host, timeNs }: WriteRow): string {
  return `${host}@${timeNs}`;
}

/** Returns a row as text. */
export function textOf(row: WriteRow): string {
  return `${keyOf(row)} ${JSON.stringify(Object.entries(row.fields).sort())}`;
}

/** Describes the outcome of a request, for messages. */
export function wordsOf({ id, startMs, endMs }: Attempt): string {
  const end = endMs === Infinity ? 'not acknowledged' : `acknowledged ${endMs.toFixed(1)}`;
  return `request ${id} (sent ${startMs.toFixed(1)}, ${end})`;
}

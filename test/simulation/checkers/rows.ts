export const TIME_COLUMN = 'time';
/** The field that names a row. */
export const NUMBER = 'n';
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

export type ReadRow = WriteRow;

/** What is known of one request of a client. */
export interface Attempt {
  readonly id: number;
  readonly rows: readonly WriteRow[];
  readonly startMs: number;
  /** When it was acknowledged; infinite if it was not. */
  endMs: number;
  /**
   * From when on it cannot come into effect any more. A copy that was sent under another batch id, and got no answer,
   * may be on its way for ever.
   */
  settledMs: number;
  /** Of a deletion, whose rows are only keys: whether it takes such a row away. Undefined: it puts its rows. */
  readonly deletes?: (row: WriteRow) => boolean;
}

/** A statement that takes rows away: all that were acknowledged before it began, some of those that it met. */
export interface Eraser {
  readonly fromMs: number;
  /** When it was acknowledged; infinite if it was not, because it may still come. */
  toMs: number;
  /**
   * From when on no row is acknowledged that it takes away: when it was acknowledged, unless an owner that was away was
   * passed over, which may know the table until every writer has heard of the drop. Infinite until then.
   */
  settledMs: number;
  readonly kind: 'truncate' | 'drop';
}

export interface History {
  readonly attempts: Attempt[];
  readonly erasers: Eraser[];
  /** When a read first showed a row, by its number: it must not vanish from then on. */
  readonly seenMs: Map<number, number>;
}

/** A read, from its beginning to its answer. */
export interface ReadTime {
  readonly fromMs: number;
  readonly toMs: number;
  /** Fields that the table had for this read: one that came later is not in it. */
  readonly fields: ReadonlySet<string>;
}

/** What a read with these fields shows of a row. */
export function seenBy(row: WriteRow, { fields }: ReadTime): WriteRow {
  return { ...row, fields: Object.fromEntries(Object.entries(row.fields).filter(([name]) => fields.has(name))) };
}

/** A row of a request. */
export interface Version {
  readonly attempt: Attempt;
  readonly row: WriteRow;
}

/** Whether a read must show a row, unless newer versions hide it. */
export function isRequired({ attempt, row }: Version, { erasers, seenMs }: History, read: ReadTime): boolean {
  const seenAtMs = attempt.deletes !== undefined ? Infinity : (seenMs.get(numberOf(row)) ?? Infinity);
  const doneMs = Math.min(attempt.endMs, seenAtMs);
  if (doneMs > read.fromMs) return false;
  return !erasers.some((it) => it.fromMs <= read.toMs && it.settledMs >= attempt.startMs);
}

/** Whether a read may show them. */
export function isAllowed(attempt: Attempt, { erasers }: History, read: ReadTime): boolean {
  if (attempt.startMs > read.toMs) return false;
  return !erasers.some((it) => it.toMs <= read.fromMs && attempt.settledMs <= it.fromMs);
}

/** Notes which rows a read has shown. */
export function noteSeen(rows: readonly ReadRow[], { seenMs }: History, read: ReadTime): void {
  for (const row of rows) {
    // Fields of one row may be those of several versions.
    for (const number of Object.values(row.fields)) if (!seenMs.has(number)) seenMs.set(number, read.toMs);
  }
}

/** Every value of a row is its number. */
function numberOf({ fields }: WriteRow): number {
  return Object.values(fields)[0];
}

export function keyOf({ host, timeNs }: WriteRow): string {
  return `${host}@${timeNs}`;
}

export function textOf(row: WriteRow): string {
  return `${keyOf(row)} ${JSON.stringify(Object.entries(row.fields).sort())}`;
}

/** How an attempt ended, for messages. */
export function wordsOf({ id, startMs, endMs }: Attempt): string {
  const end = endMs === Infinity ? 'not acknowledged' : `acknowledged ${endMs.toFixed(1)}`;
  return `request ${id} (sent ${startMs.toFixed(1)}, ${end})`;
}

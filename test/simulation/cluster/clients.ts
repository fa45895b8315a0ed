import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { checkAppend } from '../checkers/append.js';
import {
  NUMBER,
  noteSeen,
  seenBy,
  type Attempt,
  type Eraser,
  type History,
  type ReadTime,
  type TableKind,
  type WriteRow,
} from '../checkers/rows.js';
import { checkVersions } from '../checkers/versions.js';
import type { GatewayNode } from '../nodes/gateway-node.js';
import type { QuerierNode, ReadAnswer } from '../nodes/querier-node.js';
import type { Life } from '../world/life.js';
import type { Scheduler } from '../world/scheduler.js';

/** A table with the history of all requests. */
export interface TrackedTable extends TableKind {
  readonly history: History;
  readonly mode: 'last_row' | 'last_non_null';
  /** Fields of future rows; a new one widens the table. */
  readonly fields: string[];
  /** Fields that acknowledged rows have. */
  readonly knownFields: Set<string>;
  /** Dropped fields: rows in flight may have added them again. */
  readonly droppedFields: Set<string>;
}

/** Totals of a run. */
export interface Counts {
  writes: number;
  acknowledged: number;
  reads: number;
  failedReads: number;
  staleReads: number;
  confirmedDrops: number;
  deletions: number;
}

/** Nodes that clients use. */
export interface Nodes {
  readonly gateways: readonly GatewayNode[];
  readonly queriers: readonly QuerierNode[];
}

const BASE_NS = 1_700_000_000_000_000_000n;
/** Time after which a write is not sent again. */
const TRIES_MS = 25_000;
const HOSTS = ['a', 'b', 'c', 'd', 'e'];
/** Share of writes with rows of most keys: a segment much larger than others is not merged with them. */
const MANY_CHANCE = 0.06;
const MANY_ROWS = 40;
/** Row numbers reserved for a request. */
const NUMBERS = 10;
const VERSION_TIMES = [0, 20, 40, 60, 80, 100].map(timeAt);
/** Greatest difference between clocks of processes. */
const SKEWS_MS = 1_000;
/** Codes after which a write may have succeeded, or may still do so. */
const UNKNOWN: ReadonlySet<string> = new Set([
  'external',
  'deadline_exceeded',
  'cancelled',
  'region_not_ready',
  'region_not_found',
  'region_busy',
  'table_not_found',
  'storage_unavailable',
]);
const READ_FAILURES: ReadonlySet<string> = new Set(['external', 'deadline_exceeded', 'cancelled', 'region_not_ready']);
/** Codes that are only expected if the table was dropped. */
const GONE: ReadonlySet<string> = new Set(['region_not_found', 'table_not_found']);

/** Clients that write, read and administer until `isOver`, and check each result. */
export class Clients {
  readonly counts: Counts = {
    writes: 0,
    acknowledged: 0,
    reads: 0,
    failedReads: 0,
    staleReads: 0,
    confirmedDrops: 0,
    deletions: 0,
  };
  readonly #scheduler: Scheduler;
  readonly #nodes: Nodes;
  readonly #tables: readonly TrackedTable[];
  readonly #presentTableId: (name: string) => number | undefined;
  readonly #retryWindowMs: number;
  #nextId = 1;
  #nextField = 0;
  isOver = false;
  /** From then on nothing may fail. */
  isStrict = false;

  /**
   * @param presentTableId returns the present id of a table in metadata; undefined if metadata is down.
   * @param retryWindowMs time for which a key is certain to be known.
   */
  constructor(
    scheduler: Scheduler,
    nodes: Nodes,
    tables: readonly TrackedTable[],
    presentTableId: (name: string) => number | undefined,
    retryWindowMs: number,
  ) {
    this.#retryWindowMs = retryWindowMs;
    this.#scheduler = scheduler;
    this.#nodes = nodes;
    this.#tables = tables;
    this.#presentTableId = presentTableId;
  }

  /** Writes repeatedly. */
  async write(restMs: number): Promise<void> {
    const { random } = this.#scheduler;
    while (!this.isOver) {
      await this.#scheduler.pass(random.fraction() * 2 * restMs);
      const gateway = this.#ready(this.#nodes.gateways);
      if (gateway !== undefined && !this.isOver) await this.#writeOnce(random.pick(this.#tables), gateway);
    }
  }

  /** Reads repeatedly. */
  async read(restMs: number): Promise<void> {
    const { random } = this.#scheduler;
    while (!this.isOver) {
      await this.#scheduler.pass(random.fraction() * 2 * restMs);
      const querier = this.#ready(this.#nodes.queriers);
      if (querier !== undefined && !this.isOver) await this.readOnce(random.pick(this.#tables), querier);
    }
  }

  /** Flushes, compacts, deletes from, truncates, drops, widens and narrows tables, and changes types of fields. */
  async administer(restMs: number): Promise<void> {
    const { random } = this.#scheduler;
    // A deletion in a segment of its own, followed by others, may be merged without the rows that it hides.
    let next: ((querier: QuerierNode) => Promise<unknown>)[] = [];
    while (!this.isOver) {
      await this.#scheduler.pass(random.fraction() * 2 * restMs);
      const querier = this.#ready(this.#nodes.queriers);
      if (querier === undefined || this.isOver) continue;
      const table = random.pick(this.#tables);
      const chance = random.fraction();
      const planned = next.shift();
      if (planned !== undefined) await planned(querier);
      else if (chance < 0.3) await this.#flush(table, querier);
      else if (chance < 0.4 && !table.isAppendOnly) {
        await this.#delete(table, querier);
        const flush = (by: QuerierNode): Promise<unknown> => this.#flush(table, by);
        if (random.fraction() < 0.7) next = [flush, flush];
      } else if (chance < 0.55) await this.#compact(table, querier);
      else if (chance < 0.7) await this.#erase(table, querier, 'truncate');
      else if (chance < 0.8) await this.#erase(table, querier, 'drop');
      else if (chance < 0.85) await this.#dropField(table, querier);
      else if (chance < 0.91) await this.#modifyField(table, querier);
      else table.fields.push(`f${this.#nextField++}`);
    }
  }

  async dropOne(): Promise<void> {
    const querier = this.#ready(this.#nodes.queriers);
    if (querier !== undefined) await this.#erase(this.#scheduler.random.pick(this.#tables), querier, 'drop');
  }

  /** @returns whether every existing table was flushed. */
  async flushAll(): Promise<boolean> {
    const querier = this.#ready(this.#nodes.queriers);
    if (querier === undefined) return false;
    let isDone = true;
    for (const table of this.#tables) {
      const isFlushed = await this.#flush(table, querier);
      isDone &&= isFlushed || this.#presentTableId(table.name) === undefined;
    }
    return isDone;
  }

  /**
   * Reads once and checks the result.
   * @returns whether the read succeeded.
   */
  async readOnce(table: TrackedTable, querier: QuerierNode): Promise<boolean> {
    const fromMs = this.#scheduler.nowMs;
    const fields = [...table.knownFields];
    this.counts.reads++;
    try {
      const answer = await querier.read(table.name, fields, this.#call(querier.life, 10_000));
      const kept = answer.fields.filter((name) => !table.droppedFields.has(name));
      const read = { fromMs, toMs: this.#scheduler.nowMs, fields: new Set(kept) };
      const rows = answer.rows.map((row) => seenBy(row, read));
      this.#check(table, { ...answer, rows }, read, querier.name);
      return true;
    } catch (error) {
      this.counts.failedReads++;
      const { code, message } = AlmanacError.from(error);
      this.#scheduler.note(`read of ${table.name} at ${querier.name} failed: ${code} ${message}`);
      const wasDropped = table.history.erasers.some(({ kind }) => kind === 'drop');
      const isClean = READ_FAILURES.has(code) || (wasDropped && GONE.has(code));
      if (!isClean) this.#fail(`read of ${table.name} at ${querier.name} failed with ${stackOf(error)}`, error);
      const isGone = code === 'table_not_found' && this.#presentTableId(table.name) === undefined;
      if (isGone && this.isStrict) {
        this.#checkRows(table, [], { fromMs, toMs: this.#scheduler.nowMs, fields: new Set() }, 'no table');
      }
      return isGone;
    }
  }

  #check(table: TrackedTable, { tableId, rows }: ReadAnswer, read: ReadTime, querier: string): void {
    // A process may not know yet that a table was dropped; what it returns then is not checked.
    if (!this.isStrict && this.#presentTableId(table.name) !== tableId) {
      this.counts.staleReads++;
      return;
    }
    this.#checkRows(table, rows, read, `table ${tableId} at ${querier}`);
  }

  #checkRows(table: TrackedTable, rows: ReadAnswer['rows'], read: ReadTime, where: string): void {
    const wrong = table.isAppendOnly
      ? checkAppend(rows, table.history, read)
      : checkVersions(rows, table.history, read, table.mode);
    const text = `read of ${table.name} (${where}), ${read.fromMs.toFixed(1)} to ${read.toMs.toFixed(1)}`;
    this.#scheduler.note(`${text}: ${rows.length} rows`);
    if (wrong !== undefined) this.#fail(`${text}: ${wrong}`);
    noteSeen(rows, table.history, read);
  }

  async #writeOnce(table: TrackedTable, gateway: GatewayNode): Promise<void> {
    const { random } = this.#scheduler;
    const id = this.#nextId++;
    const rows = this.#rows(table, id);
    const attempt = this.#attempt(id, rows);
    table.history.attempts.push(attempt);
    this.counts.writes++;
    const mayHaveKey = !table.isAppendOnly || this.#retryWindowMs >= TRIES_MS;
    const key = random.fraction() < 0.4 && mayHaveKey ? `key-${id}` : undefined;
    // Rows with versions may be sent again under any id, others only under the same key.
    const tries = key !== undefined || !table.isAppendOnly ? 4 : 1;
    for (let i = 0; i < tries; i++) {
      const by = i === 0 ? gateway : this.#ready(this.#nodes.gateways);
      const outcome = by === undefined ? 'unknown' : await this.#sent(table, attempt, by, key);
      if (outcome === 'acknowledged' && (i === 0 || key !== undefined)) attempt.settledMs = attempt.endMs;
      if (outcome !== 'unknown') break;
      await this.#scheduler.pass(random.fraction() * 300);
    }
  }

  #attempt(id: number, rows: readonly WriteRow[], deletes?: Attempt['deletes']): Attempt {
    const { nowMs: startMs } = this.#scheduler;
    return { id, rows, startMs, endMs: Infinity, settledMs: Infinity, ...(deletes === undefined ? {} : { deletes }) };
  }

  /** Deletes all rows of a host, or, where a row is one version, those of them with an even number. */
  async #delete(table: TrackedTable, querier: QuerierNode): Promise<void> {
    const { random } = this.#scheduler;
    const id = this.#nextId++;
    const host = random.pick(HOSTS);
    const isByValue = table.mode === 'last_row' && random.fraction() < 0.7;
    const deletes = ({ fields }: WriteRow): boolean => !isByValue || fields[NUMBER] % 2 === 0;
    const keys = VERSION_TIMES.map((timeNs) => ({ host, timeNs, fields: {} }));
    const attempt = this.#attempt(id, keys, deletes);
    table.history.attempts.push(attempt);
    const condition = `host = '${host}'${isByValue ? ` AND ${NUMBER} % 2 = 0` : ''}`;
    const forMs = 5_000;
    const what = `DELETE FROM ${table.name} WHERE ${condition}, request ${id}`;
    const isDone = await this.#statement(what, () => {
      return querier.delete(table.name, condition, this.#call(querier.life, forMs));
    });
    if (isDone) {
      attempt.endMs = this.#scheduler.nowMs;
      attempt.settledMs = attempt.endMs;
      this.counts.deletions++;
    } else {
      // It deletes nothing that was written after its last read, whenever it takes effect.
      attempt.settledMs = attempt.startMs + forMs + SKEWS_MS;
    }
  }

  /** A client stops when it learns that some of its rows do not match the schema. */
  async #sent(
    table: TrackedTable,
    attempt: Attempt,
    gateway: GatewayNode,
    key: string | undefined,
  ): Promise<'acknowledged' | 'refused' | 'unknown'> {
    const { random } = this.#scheduler;
    const what = `request ${attempt.id} of ${attempt.rows.length} rows to ${table.name} at ${gateway.name}`;
    this.#scheduler.note(what);
    try {
      const call = this.#call(gateway.life, 200 + random.fraction() * 5_000);
      if (!(await gateway.write(table, attempt.rows, call, key))) {
        this.#scheduler.note(`${what} met another type`);
        return 'refused';
      }
    } catch (error) {
      const { code, message } = AlmanacError.from(error);
      this.#scheduler.note(`${what} failed: ${code} ${message}`);
      if (!UNKNOWN.has(code)) this.#fail(`${what} failed with ${stackOf(error)}`, error);
      return 'unknown';
    }
    attempt.endMs = this.#scheduler.nowMs;
    this.counts.acknowledged++;
    for (const row of attempt.rows) {
      for (const name of Object.keys(row.fields)) if (!table.droppedFields.has(name)) table.knownFields.add(name);
    }
    this.#scheduler.note(`${what} is acknowledged`);
    return 'acknowledged';
  }

  #rows(table: TrackedTable, id: number): WriteRow[] {
    const { random } = this.#scheduler;
    const isMany = !table.isAppendOnly && random.fraction() < MANY_CHANCE;
    const count = isMany ? MANY_ROWS : 1 + random.below(5);
    if (isMany) this.#nextId += MANY_ROWS / NUMBERS - 1;
    const rows = new Map<string, WriteRow>();
    for (let i = 0; i < count; i++) {
      const n = id * NUMBERS + i;
      // New series keep appearing in tables without versions.
      const host = table.isAppendOnly && random.fraction() < 0.3 ? `new${n}` : random.pick(HOSTS);
      // Few times, so that rows are replaced, in several windows. Rows that are all kept are closer together, in fewer
      // files.
      const timeNs = table.isAppendOnly ? timeAt(n) : random.pick(VERSION_TIMES);
      const others = table.fields.filter(() => random.fraction() < 0.5);
      const isPartial = !table.isAppendOnly && others.length > 0 && random.fraction() < 0.3;
      const names = isPartial ? others : [NUMBER, ...others];
      rows.set(`${host}@${timeNs}`, { host, timeNs, fields: Object.fromEntries(names.map((name) => [name, n])) });
    }
    return [...rows.values()];
  }

  #flush(table: TrackedTable, querier: QuerierNode): Promise<boolean> {
    return this.#statement(`FLUSH ${table.name}`, () => querier.flush(table.name, this.#call(querier.life, 5_000)));
  }

  #compact(table: TrackedTable, querier: QuerierNode): Promise<boolean> {
    return this.#statement(`COMPACT ${table.name}`, () => querier.compact(table.name, this.#call(querier.life, 5_000)));
  }

  /** Drops a field. Whatever the outcome, the field is not checked any more. */
  async #dropField(table: TrackedTable, querier: QuerierNode): Promise<void> {
    const name = this.#scheduler.random.pick([...table.fields, '']);
    if (name === '') return;
    table.fields.splice(table.fields.indexOf(name), 1);
    table.knownFields.delete(name);
    table.droppedFields.add(name);
    const what = `ALTER TABLE ${table.name} DROP COLUMN ${name}`;
    await this.#statement(what, () => querier.dropField(table.name, name, this.#call(querier.life, 5_000)));
  }

  /** Changes the type of a field to DOUBLE: values stay the same numbers. */
  async #modifyField(table: TrackedTable, querier: QuerierNode): Promise<void> {
    const name = this.#scheduler.random.pick([...table.fields, NUMBER]);
    const what = `ALTER TABLE ${table.name} MODIFY COLUMN ${name} DOUBLE`;
    await this.#statement(what, () => querier.modifyField(table.name, name, this.#call(querier.life, 5_000)));
  }

  async #erase(table: TrackedTable, querier: QuerierNode, kind: Eraser['kind']): Promise<void> {
    const eraser: Eraser = { fromMs: this.#scheduler.nowMs, toMs: Infinity, settledMs: Infinity, kind };
    let isConfirmed = true;
    const tableId = this.#presentTableId(table.name);
    table.history.erasers.push(eraser);
    const isDone = await this.#statement(`${kind} ${table.name}`, () => {
      const call = this.#call(querier.life, 5_000);
      if (kind === 'truncate') return querier.truncate(table.name, call);
      return querier.drop(table.name, call).then((isSure) => void (isConfirmed = isSure));
    });
    if (!isDone) return;
    eraser.toMs = this.#scheduler.nowMs;
    this.counts.confirmedDrops += kind === 'drop' && isConfirmed ? 1 : 0;
    if (isConfirmed) eraser.settledMs = eraser.toMs;
    else void this.#settle(eraser, tableId);
  }

  /** An unreachable owner has not confirmed: waits until no gateway knows the dropped table. */
  async #settle(eraser: Eraser, tableId: number | undefined): Promise<void> {
    const { gateways } = this.#nodes;
    const isKnown = (node: GatewayNode): boolean => !node.isReady || (tableId !== undefined && node.knows(tableId));
    while (gateways.some(isKnown)) await this.#scheduler.pass(10);
    eraser.settledMs = this.#scheduler.nowMs;
  }

  /** @returns whether it succeeded. */
  async #statement(what: string, run: () => Promise<void>): Promise<boolean> {
    this.#scheduler.note(what);
    try {
      await run();
      this.#scheduler.note(`${what}: done`);
      return true;
    } catch (error) {
      const { code, message } = AlmanacError.from(error);
      this.#scheduler.note(`${what} failed: ${code} ${message}`);
      // A point or a grant may have changed, in which case nothing happened.
      if (!UNKNOWN.has(code) && code !== 'illegal_state') this.#fail(`${what} failed with ${stackOf(error)}`, error);
      return false;
    }
  }

  #call(life: Life, forMs: number): Call {
    const { signal } = new AbortController();
    return { deadlineMs: life.clock.nowMs() + Math.round(forMs), signal, requestId: 'client' };
  }

  #ready<N extends { readonly isReady: boolean }>(nodes: readonly N[]): N | undefined {
    const ready = nodes.filter((node) => node.isReady);
    return ready.length === 0 ? undefined : this.#scheduler.random.pick(ready);
  }

  #fail(text: string, cause?: unknown): void {
    this.#scheduler.fail(new Error(text, { cause }));
  }
}

function timeAt(seconds: number): bigint {
  return BASE_NS + BigInt(seconds) * 1_000_000_000n;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `\ncaused by ${error.cause.stack ?? error.cause.message}` : '';
  return `${error instanceof AlmanacError ? `${error.code} ` : ''}${error.stack ?? error.message}${cause}`;
}

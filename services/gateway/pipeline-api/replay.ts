import { createHash } from 'node:crypto';

import type { Call } from '#shared/contracts/call';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { checkTableName } from '#shared/schema/names';
import type { RowWriter } from '#shared/write/writer-types';

import { isItemError } from '../pipelines/build-error.js';
import { readItemText } from '../pipelines/failed-item.js';
import type { PipelineLibrary, PipelineName } from '../pipelines/library.js';
import { isObject } from '../pipelines/values/value.js';
import { pipelineVersionText } from '../pipelines/version.js';
import { CacheMemory } from '../protocols/common/cache-memory.js';
import type { JsonValue } from '../protocols/common/json.js';
import type { PipelineCounters } from '../protocols/common/pipeline/counters.js';
import { failureTableOf } from '../protocols/common/pipeline/failure-rows.js';
import type { OpenPipeline } from '../protocols/common/pipeline/open.js';
import { PipelineSink } from '../protocols/common/pipeline/sink.js';
import { readParameters } from '../protocols/common/pipeline/parameters.js';
import { TagSeriesCache } from '../protocols/common/tag-series.js';
import { allSqlRows, type SqlRow } from '../query/sql-rows.js';
import type { QueryDeps } from '../query/query-route.js';

/** Items that are written, and then deleted, at once. */
const BATCH_ITEMS = 500;
const ITEMS_DEFAULT = 10_000;
const ITEMS_MAX = 1_000_000;

/** Dependencies of a replay. */
export interface ReplayDeps {
  readonly querier: QueryDeps['querier'];
  readonly catalog: Catalog;
  readonly writer: RowWriter;
  readonly counters: PipelineCounters;
  readonly pipelines: PipelineLibrary;
}

/** What is run again. */
export interface Replay {
  readonly database: string;
  /** Table of the requests whose items failed. */
  readonly table: string;
  readonly pipeline: PipelineName;
  readonly itemsMax: number;
}

/** A stored item. */
interface StoredFailure {
  readonly timeNs: bigint;
  readonly process: string;
  readonly text: string;
  readonly kinds: string;
  readonly form: string;
  readonly target: string;
}

/** The key of the last item that was read. */
type Position = Pick<StoredFailure, 'timeNs' | 'process'>;

/** Reads the greatest number of items of a request. @throws `invalid_arguments`. */
export function replayLimit(text: string | null): number {
  if (text === null) return ITEMS_DEFAULT;
  const limit = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= ITEMS_MAX) return limit;
  throw new AlmanacError('invalid_arguments', `limit must be 1 to ${ITEMS_MAX}, not "${text.slice(0, 100)}"`);
}

/** Runs items of failure tables again: one replay of a pipeline and table at a time in this process. */
export class Replayer {
  readonly #deps: ReplayDeps;
  readonly #running = new Set<string>();

  constructor(deps: ReplayDeps) {
    this.#deps = deps;
  }

  /**
   * Runs the items again, stores the rows of those that pass, and deletes these items.
   *
   * Rows are durable before their items are deleted. After a crash in between, the same items run again; their rows are
   * applied once as long as the batch is the same and the region remembers its ID.
   *
   * @throws `invalid_arguments` if there is no such pipeline or failure table, or a replay of it runs.
   */
  async run(replay: Replay, call: Call): Promise<JsonValue> {
    const { database, table, pipeline } = replay;
    checkTableName(table);
    const key = JSON.stringify([database, table, pipeline.name]);
    if (this.#running.has(key)) {
      throw new AlmanacError('invalid_arguments', `a replay of pipeline "${pipeline.name}" and table "${table}" runs`);
    }
    this.#running.add(key);
    try {
      return await this.#runAll(replay, call);
    } finally {
      this.#running.delete(key);
    }
  }

  async #runAll(replay: Replay, call: Call): Promise<JsonValue> {
    const { database, table, pipeline, itemsMax } = replay;
    const { catalog, pipelines } = this.#deps;
    const failureTable = failureTableOf(table);
    if (!(await catalog.tables(database, call)).some(({ name }) => name === failureTable)) {
      throw new AlmanacError('invalid_arguments', `no item of table "${table}" failed: there is no "${failureTable}"`);
    }
    const parameters = { ...readParameters(() => undefined), onError: 'fail' as const };
    const opened = await pipelines.open(pipeline, { ...parameters, usesItemTime: true }, call);
    let replayed = 0;
    let failed = 0;
    let last: Position | undefined = undefined;
    while (replayed + failed < itemsMax) {
      const count = Math.min(BATCH_ITEMS, itemsMax - replayed - failed);
      const items: StoredFailure[] = await this.#read(replay, last, count, call);
      if (items.length === 0) break;
      const passed = await this.#rerun(items, { pipelines: opened, parameters, failureKeys: undefined }, replay, call);
      replayed += passed.length;
      failed += items.length - passed.length;
      last = items[items.length - 1];
    }
    return { replayed, failed };
  }

  async #read(replay: Replay, last: Position | undefined, count: number, call: Call): Promise<StoredFailure[]> {
    const { database, table, pipeline } = replay;
    const time = quotedName(this.#deps.pipelines.timeColumn);
    const after =
      last === undefined
        ? ''
        : ` AND (${time} > ${timeLiteral(last.timeNs)} OR (${time} = ${timeLiteral(last.timeNs)} AND process > ${quotedText(last.process)}))`;
    const sql =
      `SELECT ${time}, process, item, kinds, form, target FROM ${quotedName(failureTableOf(table))} ` +
      `WHERE pipeline = ${quotedText(pipeline.name)}${after} ORDER BY ${time}, process LIMIT ${count}`;
    return (await allSqlRows(this.#deps.querier, { sql, database }, call)).map(failureOf);
  }

  /** Returns the items that passed; they are stored as rows, and deleted. */
  async #rerun(
    items: readonly StoredFailure[],
    pipeline: OpenPipeline,
    replay: Replay,
    call: Call,
  ): Promise<StoredFailure[]> {
    const { database } = replay;
    const { catalog, writer, pipelines } = this.#deps;
    const write = {
      database,
      create: true,
      timeIndex: { name: pipelines.timeColumn, type: 'TimestampNanosecond' },
      tableOptions: { append_mode: 'true' },
      timeType: 'TimestampNanosecond',
    };
    const tables = await catalog.tables(database, call);
    const series = new TagSeriesCache(new CacheMemory(0));
    const sinkInto = (batches: BatchSet): PipelineSink => {
      const sink = new PipelineSink({ nowNs: 0n, batches, tables }, { ...pipeline, write }, series, 'tree');
      sink.run.beginReplay();
      return sink;
    };
    // An item may fail after some of its rows were made, so each is tried before: rows of one that stays must not be stored.
    const trial = sinkInto(new BatchSet());
    const batches = new BatchSet();
    const sink = sinkInto(batches);
    const passed = items.filter((item) => passes(item, trial) && passes(item, sink));
    if (passed.length === 0) return [];
    const id = idOf(passed, pipeline);
    if (batches.rowCount > 0) await writer.write(batches, { ...sink.mainWrite(), idempotencyKey: id }, call);
    for (const [i, { batches: more, write: options }] of sink.additionalWrites().entries()) {
      await writer.write(more, { ...options, idempotencyKey: `${id} ${i + 1}` }, call);
    }
    await this.#deps.counters.add(sink.run.counts, database, id, call);
    await this.#delete(passed, replay, call);
    return passed;
  }

  async #delete(items: readonly StoredFailure[], { database, table, pipeline }: Replay, call: Call): Promise<void> {
    const time = quotedName(this.#deps.pipelines.timeColumn);
    for (const process of new Set(items.map((item) => item.process))) {
      const times = items.filter((item) => item.process === process).map(({ timeNs }) => timeLiteral(timeNs));
      const sql =
        `DELETE FROM ${quotedName(failureTableOf(table))} WHERE pipeline = ${quotedText(pipeline.name)} ` +
        `AND process = ${quotedText(process)} AND ${time} IN (${times.join(', ')})`;
      await allSqlRows(this.#deps.querier, { sql, database }, call);
    }
  }
}

/** Runs an item at the time of its receipt. */
function passes({ text, kinds, form, target, timeNs }: StoredFailure, sink: PipelineSink): boolean {
  const { run, rows } = sink;
  rows.nowNs = timeNs;
  try {
    const value = readItemText({ text, kinds });
    if (form === 'element') run.runElement(value, target);
    else if (!isObject(value)) run.runValue(value, target);
    else {
      for (const [key, member] of value) sink.item.set(sink.slotOf(key), member);
      run.run(target);
    }
    return true;
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    sink.item.clear();
    if (isItemError(error)) return false;
    throw error;
  }
}

/** The same items and the same version of the pipeline are the same write. */
function idOf(items: readonly StoredFailure[], { pipelines }: OpenPipeline): string {
  const hash = createHash('sha256').update(pipelines.root.name);
  for (const { timeNs, process } of items) hash.update(`\n${timeNs} ${process}`);
  return `replay ${pipelines.root.version ?? 0n} ${hash.digest('hex')}`;
}

function failureOf([time, process, text, kinds, form, target]: SqlRow): StoredFailure {
  const word = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
  const timeNs = typeof time === 'bigint' || typeof time === 'number' ? BigInt(time) : 0n;
  return {
    timeNs,
    process: word(process),
    text: word(text),
    kinds: word(kinds),
    form: word(form),
    target: word(target),
  };
}

function timeLiteral(ns: bigint): string {
  return `TIMESTAMP_NS '${pipelineVersionText(ns)}'`;
}

function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

import { crc32c } from '#shared/bytes/crc32c';
import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { unlessAborted, withSpan, type Call } from '#shared/contracts/call';
import { requireAccess } from '#shared/contracts/rights';
import type { Column, ColumnIndex, Table } from '#shared/contracts/gen/common';
import type { ColumnSpec, EnsureTable, MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { BatchSet, TableBuilder } from '#shared/rowbatch/builder';
import { isExternal } from '#shared/schema/external-table';
import { isForeignTo } from '#shared/schema/metric-table';
import type { Metrics } from '#shared/telemetry/metrics';
import { LARGE_ROWS, SERIES_PER_LOOK, type RefusedRows, type RegionSender } from './send.js';
import { indexOf, type TableIndex } from './table-index.js';
import { planTable, splitRows, type ResolvedTable, type TablePlan } from './write-plan.js';
import { WrittenRows } from './written-rows.js';
import type { RejectedRow, RowWriter, WriteCatalog, WriteOptions, WriteResult } from './writer-types.js';

/** Dependencies of a `BatchWriter`. */
export interface BatchWriterOptions {
  readonly catalog: WriteCatalog;
  readonly metadata: MetadataService;
  readonly sender: RegionSender;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** A table whose rows were sent, and the failures of its regions. */
interface SentTable {
  readonly builder: TableBuilder;
  readonly plan: TablePlan;
  readonly failures: readonly AlmanacError[];
  /** Rows that regions refused. */
  readonly refused: readonly RefusedRows[];
}

/** Largest number of attempts to send rows whose table is dropped: the table that an attempt creates may be dropped too. */
const ATTEMPTS_MAX = 5;

/** Finds or creates the tables of a request, rejects rows that do not fit, and sends the others to all regions at once. */
export class BatchWriter implements RowWriter {
  readonly #options: BatchWriterOptions;
  readonly #rows: WrittenRows;
  readonly #creations: TableCreations;
  /** Distributes the batches of tables in append mode over their regions. */
  #batchCounter = 0;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
    this.#creations = new TableCreations(options.clock);
    this.#rows = new WrittenRows(options.metrics);
  }

  async write(batches: BatchSet, options: WriteOptions, call: Call): Promise<WriteResult> {
    requireAccess(call, 'write', options.database);
    return withSpan(call, 'write rows', { 'db.namespace': options.database }, (own) =>
      this.#write(batches, options, own),
    );
  }

  async #write(batches: BatchSet, options: WriteOptions, call: Call): Promise<WriteResult> {
    const builders = [...batches.tables.values()].filter((builder) => builder.rowCount > 0);
    let sent = await this.#attempt(builders, options, false, call);
    for (let attempt = 2; attempt <= ATTEMPTS_MAX; attempt++) {
      const gone = sent.filter(({ failures }) => failures.some(isGone));
      if (gone.length === 0) break;
      // The table was dropped, and perhaps created again: rows that an old region has stored are gone with it.
      const again = await this.#attempt(
        gone.map(({ builder }) => builder),
        options,
        true,
        call,
      );
      sent = [...sent.filter((it) => !gone.includes(it)), ...again];
    }
    const failures = sent.flatMap((it) => it.failures);
    // A failure that may heal takes precedence: the client repeats the request, and sees the other failure then.
    const failure = failures.find((it) => it.retry) ?? failures[0];
    if (failure !== undefined) throw failure;

    let rowCount = 0;
    for (const { plan, refused } of sent) rowCount += plan.batch.rowCount - countOf(refused);
    this.#rows.add(options.database, rowCount);
    const rejected = sent.flatMap(({ plan, refused }) => [...plan.rejected, ...rejectedBy(plan, refused)]);
    const isConflict = ({ conflict }: RejectedRow): boolean => conflict !== undefined;
    return { rowCount, rejected: [...rejected.filter(isConflict), ...rejected.filter((row) => !isConflict(row))] };
  }

  /** Returns the keys in `#creations` of tables that are not in the catalog. */
  #unknownTables(builders: readonly TableBuilder[], { database }: WriteOptions): string[] {
    const unknown = builders.filter(({ table }) => this.#options.catalog.known(database, table) === undefined);
    return unknown.map(({ table }) => `${database}\n${table}`);
  }

  async #attempt(
    builders: readonly TableBuilder[],
    options: WriteOptions,
    isOutdated: boolean,
    call: Call,
  ): Promise<SentTable[]> {
    const resolve = (): Promise<ResolvedTable[]> => resolveTables(this.#options, builders, options, isOutdated, call);
    const resolved = await this.#creations.run(() => this.#unknownTables(builders, options), resolve, call);
    // All tables are planned before the first rows are sent, so that no row is stored if one of them fails.
    const plans: TablePlan[] = [];
    for (const table of resolved) {
      if (table.builder.rowCount >= LARGE_ROWS) await this.#options.clock.yield();
      plans.push(planTable(table, options.timeType));
    }
    if (options.refusesPartly === true) refuseRejected(plans);
    const { idempotencyKey, refusesPartly } = options;
    // Rows that are sent again must go to the same region.
    const counter = idempotencyKey === undefined ? this.#batchCounter++ : crc32c(Buffer.from(idempotencyKey));
    const parts = plans.map((plan) => splitRows(plan, counter));
    const outcomes = await this.#options.sender.send(parts.flat(), call, { idempotencyKey, refusesPartly });
    return plans.map((plan, i) => {
      const ofTable = outcomes.splice(0, parts[i].length);
      const failures = ofTable.flatMap((outcome) => {
        return outcome.status === 'rejected' ? [AlmanacError.from(outcome.reason)] : [];
      });
      const refused = ofTable.flatMap((outcome) => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : []));
      return { builder: builders[i], plan, failures, refused };
    });
  }
}

/** A call that has less time fails before it reaches the metadata service, and its error would not tell why. */
const ATTEMPT_MS = 10;

/**
 * Tables that requests are creating. Listing the columns of a new table takes a look at the tags of each series; the
 * first requests of several senders would all do so for the same table.
 */
class TableCreations {
  readonly #clock: Clock;
  /** Each resolves with the error of a creation that failed. */
  readonly #pending = new Map<string, Promise<AlmanacError | undefined>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `create` after requests before this one have created the tables, or failed to.
   *
   * @param unknown returns the keys of the tables that do not exist.
   * @throws the error of a request before this one, if this one has no time left for another attempt.
   */
  async run<T>(unknown: () => readonly string[], create: () => Promise<T>, call: Call): Promise<T> {
    let keys = unknown();
    for (let pending = this.#pendingOf(keys); pending !== undefined; pending = this.#pendingOf(keys)) {
      const failure = await unlessAborted(call, pending);
      if (failure !== undefined && this.#clock.nowMs() + ATTEMPT_MS > call.deadlineMs) throw failure;
      keys = unknown();
    }
    const creating = create();
    const settled = creating.then(
      () => undefined,
      (error: unknown) => AlmanacError.from(error),
    );
    for (const key of keys) this.#pending.set(key, settled);
    try {
      return await creating;
    } finally {
      for (const key of keys) if (this.#pending.get(key) === settled) this.#pending.delete(key);
    }
  }

  #pendingOf(keys: readonly string[]): Promise<AlmanacError | undefined> | undefined {
    for (const key of keys) {
      const pending = this.#pending.get(key);
      if (pending !== undefined) return pending;
    }
    return undefined;
  }
}

/** @throws `invalid_arguments` if a row was rejected. */
function refuseRejected(plans: readonly TablePlan[]): void {
  const [first] = plans.flatMap(({ rejected }) => rejected);
  if (first !== undefined) throw new AlmanacError('invalid_arguments', `table "${first.table}": ${first.reason}`);
}

function countOf(refused: readonly RefusedRows[]): number {
  return refused.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

/** All regions of a table have the same reason. */
function rejectedBy({ index }: TablePlan, refused: readonly RefusedRows[]): RejectedRow[] {
  if (refused.length === 0) return [];
  return [{ table: index.table.name, reason: refused[0].reason, rowCount: countOf(refused) }];
}

function isGone(error: AlmanacError): boolean {
  return error.code === 'table_not_found' || error.code === 'region_not_found';
}

/** Whether a table has the columns of a batch. `foreign`: it is a metric table, and the batch is not for one. */
type Fit = 'fits' | 'conflicts' | 'missing' | 'foreign';

/** A table that another process created may have another time index than requested: then a second round is needed. */
const ROUNDS_MAX = 4;

/**
 * Finds the table of each batch, and creates all missing tables and columns by one call.
 *
 * For known tables and series this takes one lookup per field and one comparison per series.
 *
 * @param isOutdated whether to call metadata in any case, since a region reported that its table is gone.
 * @throws `database_not_found`, `table_not_found`, `invalid_arguments`.
 */
async function resolveTables(
  { catalog, metadata, clock }: BatchWriterOptions,
  builders: readonly TableBuilder[],
  options: WriteOptions,
  isOutdated: boolean,
  call: Call,
): Promise<ResolvedTable[]> {
  const found = builders.map((builder) => catalog.known(options.database, builder.table));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const fits: Fit[] = [];
    for (const [i, builder] of builders.entries()) {
      const table = found[i];
      if (table === undefined) fits.push('missing');
      else fits.push(isForeignTo(table, options.tableOptions) ? 'foreign' : await fit(builder, indexOf(table), clock));
      if (table === undefined || fits[i] !== 'conflicts' || options.widensIntegers !== true) continue;
      const widened = await widenIntegers(builder, table, metadata, call);
      if (widened === table) continue;
      catalog.apply(widened);
      found[i] = widened;
      fits[i] = await fit(builder, indexOf(widened), clock);
    }
    const incomplete = [...builders.keys()].filter((i) => {
      return fits[i] === 'missing' || (isOutdated && round === 0 && fits[i] !== 'foreign');
    });
    if (incomplete.length === 0) return builders.map((builder, i) => resolved(builder, found[i], fits[i]));
    const requests: EnsureTable[] = [];
    for (const i of incomplete) {
      // A table that is gone is created again, with all columns.
      requests.push(await ensureTable(builders[i], isOutdated && round === 0 ? undefined : found[i], options, clock));
    }
    const response = await metadata.ensureTables(
      { database: options.database, tables: requests, create: options.create },
      call,
    );
    for (const [k, i] of incomplete.entries()) {
      found[i] = response.tables[k];
      catalog.apply(response.tables[k]);
    }
  }
  invariant(false, 'metadata does not add the columns that a write needs');
}

/** Other processes may change the table at the same time. */
const WIDEN_TRIES = 5;

/** Makes fields of type Int64 that have fractions in the batch Float64. Returns the table, as it is then. */
async function widenIntegers(
  builder: TableBuilder,
  known: Table,
  metadata: MetadataService,
  call: Call,
): Promise<Table> {
  const doubles = builder.fields.filter(({ setCount, type }) => setCount > 0 && type.name === 'Float64');
  const names = new Set(doubles.map(({ name }) => name));
  const isWidened = ({ name, kind, type }: Column): boolean => kind === 'field' && type === 'Int64' && names.has(name);
  const { tableId } = known;
  let table = known;
  for (let attempt = 1; table.columns.some(isWidened); attempt++) {
    const { schemaVersion, name, options, primaryKey } = table;
    const columns = table.columns.map((column) => (isWidened(column) ? { ...column, type: 'Float64' } : column));
    try {
      const request = { tableId, schemaVersion, name, columns, options, primaryKey };
      const altered = await metadata.alterTable(request, call);
      return altered.table ?? table;
    } catch (error) {
      if (AlmanacError.from(error).code !== 'illegal_state' || attempt === WIDEN_TRIES) throw error;
      table = await metadata.getTable({ database: '', name: '', tableId }, call);
    }
  }
  return table;
}

function resolved(builder: TableBuilder, table: Table | undefined, fits: Fit): ResolvedTable {
  invariant(table !== undefined, 'table that was resolved is missing');
  const refusal = fits === 'foreign' ? refusalOf(table) : undefined;
  return { builder, index: indexOf(table), fits: fits === 'fits', refusal };
}

function refusalOf(table: Table): string {
  if (isExternal(table)) return `table "${table.name}" is external: its rows are in files, to which nothing is written`;
  return `table "${table.name}" holds the metrics of Prometheus remote write`;
}

async function fit(builder: TableBuilder, index: TableIndex, clock: Clock): Promise<Fit> {
  let found: Fit = 'fits';
  for (const field of builder.fields) {
    if (field.setCount === 0) continue;
    const column = index.byName.get(field.name);
    if (column === undefined && !index.byFoldedName.has(field.name.toLowerCase())) return 'missing';
    if (column?.kind !== 'field' || column.type !== field.type.name) found = 'conflicts';
  }
  const ofSeries = builder.columnsIn === index.table.tableId ? 'fits' : await fitSeries(builder, index, clock);
  return ofSeries === 'fits' ? found : ofSeries;
}

async function fitSeries(builder: TableBuilder, index: TableIndex, clock: Clock): Promise<Fit> {
  const { tableId } = index.table;
  const slices = new Slices(clock, { workPerLook: SERIES_PER_LOOK });
  let found: Fit = 'fits';
  // Successive series mostly have the same tags.
  let names: readonly string[] | undefined;
  let fitOfNames: Fit = 'fits';
  for (const series of builder.series) {
    if (series.columnsIn === tableId) continue;
    if (slices.isOver(1)) await slices.yield();
    const own = builder.tagNamesOf(series);
    if (names === undefined || !areSame(own, names)) fitOfNames = fitTags(builder, own, index);
    names = own;
    if (fitOfNames === 'missing') return 'missing';
    if (fitOfNames === 'conflicts') found = 'conflicts';
    else series.columnsIn = tableId;
  }
  return found;
}

function areSame(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((name, i) => name === other[i]));
}

function fitTags(builder: TableBuilder, names: readonly string[], index: TableIndex): Fit {
  let found: Fit = 'fits';
  for (const name of names) {
    const column = index.byName.get(name);
    if (column === undefined && !index.byFoldedName.has(name.toLowerCase())) return 'missing';
    if (column?.kind !== 'tag' || column.type !== builder.tagType(name)) found = 'conflicts';
  }
  return found;
}

/**
 * Requests all columns of a batch: those of every new table, tags, then fields, each in order of first appearance, then the
 * time index.
 */
async function ensureTable(
  builder: TableBuilder,
  known: Table | undefined,
  options: WriteOptions,
  clock: Clock,
): Promise<EnsureTable> {
  const timeName = known === undefined ? options.timeIndex.name : indexOf(known).timeIndex.name;
  const columns = new Map<string, ColumnSpec>();
  const folded = new Set([timeName.toLowerCase()]);
  const add = (name: string, type: string, kind: string, indexes: readonly ColumnIndex[] = []): void => {
    // A list of all columns says where the time index is.
    if (kind === 'time' && name === timeName) columns.set(name, columnSpec(name, type, kind));
    // Rows with the name of the time index, or one that differs from another by letter case alone, are rejected later.
    if (name === timeName || columns.has(name)) return;
    const lowerCase = name.toLowerCase();
    const other = known === undefined ? undefined : indexOf(known).byFoldedName.get(lowerCase);
    if (folded.has(lowerCase) || (other !== undefined && other.name !== name)) return;
    folded.add(lowerCase);
    columns.set(name, columnSpec(name, type, kind, indexes));
  };
  if (known === undefined) {
    for (const { name, type, kind, indexes } of options.columns ?? []) add(name, type, kind, indexes);
  }
  const slices = new Slices(clock, { workPerLook: SERIES_PER_LOOK });
  let names: readonly string[] = [];
  for (const series of builder.series) {
    if (series.columnsIn === known?.tableId) continue;
    if (slices.isOver(1)) await slices.yield();
    const own = builder.tagNamesOf(series);
    if (!areSame(own, names)) for (const name of own) add(name, builder.tagType(name), 'tag');
    names = own;
  }
  for (const field of builder.fields) if (field.setCount > 0) add(field.name, field.type.name, 'field');
  columns.set(timeName, columnSpec(timeName, options.timeIndex.type, 'time'));
  const { tableOptions, isDefaultMergeMode } = options;
  return { name: builder.table, columns: [...columns.values()], options: tableOptions, isDefaultMergeMode };
}

function columnSpec(name: string, type: string, kind: string, indexes: readonly ColumnIndex[] = []): ColumnSpec {
  return { name, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '', indexes: [...indexes] };
}

import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { ColumnSpec, EnsureTable, MetadataService } from '#shared/contracts/gen/metadata';
import type { DroppedTable } from '#shared/discovery/table-map';
import { invariant } from '#shared/errors/invariant';
import type { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { isForeignTo } from '#shared/schema/metric-table';
import { indexOf, type TableIndex } from './table-index.js';
import type { WriteOptions } from './writer-types.js';

/** What the writer needs of the catalog; `CatalogCache` has it. */
export interface WriteCatalog {
  known(database: string, name: string): Table | undefined;
  knownById(tableId: number): Table | undefined;
  apply(table: Table): void;
  onDropped(listener: (table: DroppedTable) => void): () => void;
}

export interface TableDeps {
  readonly catalog: WriteCatalog;
  readonly metadata: MetadataService;
  readonly clock: Clock;
}

/** A batch and the table that it goes to. */
export interface ResolvedTable {
  readonly builder: TableBuilder;
  readonly index: TableIndex;
  /** Whether each column of the batch is in the table with the same type and use. */
  readonly fits: boolean;
  /** Why the table takes no row of the batch; undefined if it does. */
  readonly refusal: string | undefined;
}

/** How the columns of a batch stand to those of a table. */
type Fit = 'fits' | 'conflicts' | 'lacks' | 'foreign';

/** New series between two looks at the clock, of 2 to 20 us each. */
export const SERIES_PER_LOOK = 64;
/** A table that was made by somebody else may have another time index than was asked for: then it takes a second. */
const ROUNDS_MAX = 4;

/**
 * Finds the table of each batch, and makes what is missing by one call for all of them.
 *
 * For tables and series that are known, this costs one lookup per field and a comparison per series.
 *
 * @param isDoubted asks metadata in any case: a region said that its table is gone.
 * @throws `database_not_found`, `table_not_found`, `invalid_arguments`.
 */
export async function resolveTables(
  { catalog, metadata, clock }: TableDeps,
  builders: readonly TableBuilder[],
  options: WriteOptions,
  isDoubted: boolean,
  call: Call,
): Promise<ResolvedTable[]> {
  const found = builders.map((builder) => catalog.known(options.database, builder.table));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const fits: Fit[] = [];
    for (const [i, builder] of builders.entries()) {
      const table = found[i];
      if (table === undefined) fits.push('lacks');
      else fits.push(isForeignTo(table, options.tableOptions) ? 'foreign' : await fit(builder, indexOf(table), clock));
    }
    const lacking = [...builders.keys()].filter((i) => {
      return fits[i] === 'lacks' || (isDoubted && round === 0 && fits[i] !== 'foreign');
    });
    if (lacking.length === 0) return builders.map((builder, i) => resolved(builder, found[i], fits[i]));
    const wanted: EnsureTable[] = [];
    for (const i of lacking) {
      // A table that is in doubt may be made anew, with all its columns.
      wanted.push(await ensureTable(builders[i], isDoubted && round === 0 ? undefined : found[i], options, clock));
    }
    const answer = await metadata.ensureTables(
      { database: options.database, tables: wanted, create: options.create },
      call,
    );
    for (const [k, i] of lacking.entries()) {
      found[i] = answer.tables[k];
      catalog.apply(answer.tables[k]);
    }
  }
  invariant(false, 'metadata does not add the columns that a write asks for');
}

function resolved(builder: TableBuilder, table: Table | undefined, fits: Fit): ResolvedTable {
  invariant(table !== undefined, 'table that was resolved is missing');
  const refusal = fits === 'foreign' ? `table "${table.name}" holds the metrics of Prometheus remote write` : undefined;
  return { builder, index: indexOf(table), fits: fits === 'fits', refusal };
}

async function fit(builder: TableBuilder, index: TableIndex, clock: Clock): Promise<Fit> {
  let found: Fit = 'fits';
  for (const field of builder.fields) {
    if (field.setCount === 0) continue;
    const column = index.byName.get(field.name);
    if (column === undefined && !index.byFoldedName.has(field.name.toLowerCase())) return 'lacks';
    if (column?.kind !== 'field' || column.type !== field.type.name) found = 'conflicts';
  }
  const { tableId } = index.table;
  if (builder.columnsIn === tableId) return found;
  const slices = new Slices(clock, { workPerLook: SERIES_PER_LOOK });
  for (const series of builder.series) {
    if (series.columnsIn === tableId) continue;
    if (slices.isOver(1)) await slices.yield();
    const tags = fitTags(series, index);
    if (tags === 'lacks') return 'lacks';
    if (tags === 'conflicts') found = 'conflicts';
    else series.columnsIn = tableId;
  }
  return found;
}

function fitTags(series: SeriesEntry, index: TableIndex): Fit {
  let found: Fit = 'fits';
  for (const { name } of series.tags) {
    const column = index.byName.get(name);
    if (column === undefined && !index.byFoldedName.has(name.toLowerCase())) return 'lacks';
    if (column?.kind !== 'tag' || column.type !== 'String') found = 'conflicts';
  }
  return found;
}

/** All columns of a batch: tags, then fields, each in order of first appearance, then the time index. */
async function ensureTable(
  builder: TableBuilder,
  known: Table | undefined,
  options: WriteOptions,
  clock: Clock,
): Promise<EnsureTable> {
  const timeName = known === undefined ? options.timeIndex.name : indexOf(known).timeIndex.name;
  const columns = new Map<string, ColumnSpec>();
  const folded = new Set([timeName.toLowerCase()]);
  const add = (name: string, type: string, kind: string): void => {
    // Rows with the name of the time, or with one that differs from another's by letter case alone, are refused one by one.
    if (name === timeName || columns.has(name)) return;
    const small = name.toLowerCase();
    const other = known === undefined ? undefined : indexOf(known).byFoldedName.get(small);
    if (folded.has(small) || (other !== undefined && other.name !== name)) return;
    folded.add(small);
    columns.set(name, columnSpec(name, type, kind));
  };
  const slices = new Slices(clock, { workPerLook: SERIES_PER_LOOK });
  for (const series of builder.series) {
    if (series.columnsIn === known?.tableId) continue;
    if (slices.isOver(1)) await slices.yield();
    for (const tag of series.tags) add(tag.name, 'String', 'tag');
  }
  for (const field of builder.fields) if (field.setCount > 0) add(field.name, field.type.name, 'field');
  columns.set(timeName, columnSpec(timeName, options.timeIndex.type, 'time'));
  const { tableOptions, isDefaultMergeMode } = options;
  return { name: builder.table, columns: [...columns.values()], options: tableOptions, isDefaultMergeMode };
}

function columnSpec(name: string, type: string, kind: string): ColumnSpec {
  return { name, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '' };
}

import type { Call } from '#shared/contracts/call';
import { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId } from '#shared/rowbatch/series-key';
import { RegionSender } from '#shared/write/send';
import { BatchWriter } from '#shared/write/writer';
import type { WriteResult } from '#shared/write/writer-types';

import { TIME_COLUMN, TIME_TYPE, type TableKind, type WriteRow } from '../checkers/rows.js';
import type { Life } from '../world/life.js';
import { joinWorld, newLife, type Joined, type World } from './world.js';

const ENCODER = new TextEncoder();

interface Running {
  readonly writer: BatchWriter;
  readonly joined: Joined;
  /** Series that this process knows. */
  readonly series: Map<string, SeriesEntry>;
}

/** The writing side of a gateway process. */
export class GatewayNode {
  readonly name: string;
  readonly #world: World;
  life: Life;
  #running: Running | undefined;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
    this.life = newLife(name, world);
    this.life.kill();
  }

  get isReady(): boolean {
    return !this.life.isDead && this.#running !== undefined;
  }

  /** Returns whether it would send rows to this table. */
  knows(tableId: number): boolean {
    return this.#running?.joined.catalog.knownById(tableId) !== undefined;
  }

  start(): void {
    const life = newLife(this.name, this.#world);
    this.life = life;
    this.#running = undefined;
    this.#world.scheduler.note(`${this.name} starts`);
    void this.#start(life);
  }

  kill(): void {
    this.#world.scheduler.note(`${this.name} is killed`);
    this.life.kill();
  }

  /**
   * @returns whether no row was left out because a field had another type.
   * @throws what the writer throws; `external` if the process dies meanwhile.
   */
  async write(table: TableKind, rows: readonly WriteRow[], call: Call, idempotencyKey?: string): Promise<boolean> {
    const running = this.#running;
    if (running === undefined) return true;
    const options = {
      database: 'public',
      create: true,
      timeIndex: { name: TIME_COLUMN, type: TIME_TYPE },
      tableOptions: table.options,
      timeType: TIME_TYPE,
      idempotencyKey,
    };
    const write = async (): Promise<WriteResult> => {
      const types = await typesOf(running.joined, table.name, rows, call);
      return running.writer.write(batchOf(running, table, rows, types), options, call);
    };
    return (await this.life.during(write())).conflicts.length === 0;
  }

  async #start(life: Life): Promise<void> {
    const world = this.#world;
    const joined = await joinWorld(world, life, 'gateway');
    const { catalog, metadata, ingesters, membership } = joined;
    const deps = { clock: life.clock, random: life.random, metrics: world.metrics, catalog };
    const sender = new RegionSender({ ...deps, ingesters });
    const writer = new BatchWriter({ ...deps, metadata, sender });
    this.#running = { writer, joined, series: new Map() };
    await membership.reportState('ready');
  }
}

/** Returns the types of the known fields by name; calls metadata if one is unknown. */
async function typesOf(
  { catalog, metadata }: Joined,
  name: string,
  rows: readonly WriteRow[],
  call: Call,
): Promise<ReadonlyMap<string, string>> {
  const types = (): Map<string, string> => {
    return new Map(catalog.known('public', name)?.columns.map((column) => [column.name, column.type]));
  };
  const known = types();
  if (rows.every(({ fields }) => Object.keys(fields).every((field) => known.has(field)))) return known;
  const now = await metadata.getTable({ database: 'public', name, tableId: 0 }, call).catch(() => undefined);
  if (now !== undefined) catalog.apply(now);
  return types();
}

function batchOf(
  { series }: Running,
  table: TableKind,
  rows: readonly WriteRow[],
  types: ReadonlyMap<string, string>,
): BatchSet {
  const batches = new BatchSet();
  const builder = batches.table(table.name);
  for (const { host, timeNs, fields } of rows) {
    const key = `${table.name} ${host}`;
    let entry = series.get(key);
    if (entry === undefined) {
      const tags = [{ name: 'host', value: ENCODER.encode(host) }];
      entry = new SeriesEntry(table.name, seriesId(tags), tags);
      series.set(key, entry);
    }
    builder.startRow(entry);
    const at = builder.rowCount;
    for (const [name, value] of Object.entries(fields)) {
      builder.field(name, types.get(name) ?? 'Int64').setNumber(at, value);
    }
    builder.endRowAt(timeNs);
  }
  return batches;
}

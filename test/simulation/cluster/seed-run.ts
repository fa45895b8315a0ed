import { LOG_ID_FILE } from '#services/ingester/log-identity';
import { ownCall } from '#shared/contracts/call';
import type { ColumnSpec } from '#shared/contracts/gen/metadata';
import { invariant } from '#shared/errors/invariant';

import { NUMBER, TIME_COLUMN, TIME_TYPE } from '../checkers/rows.js';
import { GatewayNode } from '../nodes/gateway-node.js';
import { IngesterNode } from '../nodes/ingester-node.js';
import { MetadataNode } from '../nodes/metadata-node.js';
import { QuerierNode } from '../nodes/querier-node.js';
import type { World } from '../nodes/world.js';
import type { Scheduler } from '../world/scheduler.js';
import { Clients, type Counts, type TrackedTable } from './clients.js';
import { Troubles, type Members } from './troubles.js';

/** Result of a seed. */
export interface SeedOutcome extends Counts {
  readonly seed: number;
  readonly virtualMs: number;
}

/** A run that broke a rule, with its whole trace. */
export class SeedFailure extends Error {
  readonly trace: readonly string[];

  constructor(seed: number, scheduler: Scheduler) {
    const { failure } = scheduler;
    super(`seed ${seed}: ${failure?.message ?? 'unknown'}`, { cause: failure });
    this.trace = scheduler.trace;
  }
}

const START_MS = 30_000;
const END_MS = 60_000;
const HEAL_MS = 120_000;
/** Log files of a slot in use once everything is flushed. */
const LOG_FILES_MAX = 2;
const FLUSHES_MAX = 5;

/** Processes to simulate, and what goes wrong. */
export interface SimulationKind {
  readonly ingesters: number;
  readonly others: number;
  /** Kind of troubles. */
  readonly troubles: 'cluster' | 'disk';
  /** Rests between administrative statements, in milliseconds. */
  readonly administerMs: number;
}

/** Several processes of each kind, on a bad network and disk. */
export const CLUSTER: SimulationKind = { ingesters: 2, others: 2, troubles: 'cluster', administerMs: 1_500 };
/** One process of each kind, on a disk that fails, fills up, and loses power. */
export const SINGLE: SimulationKind = { ingesters: 1, others: 1, troubles: 'disk', administerMs: 300 };

/** One run of a cluster: it starts, works through trouble, is healed, and is checked. */
export class SeedRun {
  readonly #seed: number;
  readonly #world: World;
  readonly #members: Members;
  readonly #tables: readonly TrackedTable[];
  readonly #tableIds = new Map<string, number>();
  readonly #clients: Clients;
  readonly #troubles: Troubles;
  readonly #form: SimulationKind;

  constructor(seed: number, world: World, form: SimulationKind) {
    const { scheduler } = world;
    this.#form = form;
    this.#seed = seed;
    this.#world = world;
    this.#members = {
      metadata: new MetadataNode(world, (name, tableId) => {
        if (tableId === undefined) this.#tableIds.delete(name);
        else this.#tableIds.set(name, tableId);
      }),
      ingesters: several(form.ingesters, (i) => new IngesterNode(`ingester${i}`, world)),
      gateways: several(form.others, (i) => new GatewayNode(`gateway${i}`, world)),
      queriers: several(form.others, (i) => new QuerierNode(`querier${i}`, world)),
    };
    const mode = scheduler.random.pick(['last_row', 'last_non_null'] as const);
    this.#tables = [
      tracked('versioned', { merge_mode: mode }, mode),
      tracked('appended', { append_mode: 'true' }, 'last_row'),
    ];
    const tableId = (name: string): number | undefined => this.#tableIds.get(name);
    this.#clients = new Clients(scheduler, this.#members, this.#tables, tableId, world.settings.retryWindowMs);
    this.#troubles = new Troubles(world, this.#members, () => void this.#clients.dropOne());
  }

  /** @throws `SeedFailure`. */
  async run(): Promise<SeedOutcome> {
    const { scheduler } = this.#world;
    try {
      await this.#until('the cluster to start', this.#start(), START_MS);
      await this.#until('the clients to end', this.#live(), END_MS);
      await this.#until('everything to be whole again', this.#heal(), HEAL_MS);
      return { seed: this.#seed, virtualMs: Math.round(scheduler.nowMs), ...this.#clients.counts };
    } finally {
      this.#end();
    }
  }

  /** Runs the simulation until some work of it has ended. */
  async #until(what: string, work: Promise<void>, withinMs: number): Promise<void> {
    const { scheduler } = this.#world;
    let isOver = false;
    work.then(
      () => (isOver = true),
      (error: unknown) => scheduler.fail(error instanceof Error ? error : new Error(String(error))),
    );
    await scheduler.run(() => isOver, scheduler.nowMs + withinMs);
    if (!isOver) scheduler.fail(new Error(`waited in vain for ${what}`));
    if (scheduler.failure !== undefined) throw new SeedFailure(this.#seed, scheduler);
  }

  async #start(): Promise<void> {
    const { metadata, ingesters, gateways, queriers } = this.#members;
    const { scheduler, settings } = this.#world;
    scheduler.note(`settings ${JSON.stringify(settings)} ${JSON.stringify(this.#tables[0].options)}`);
    await metadata.start();
    for (const node of [...ingesters, ...gateways, ...queriers]) node.start();
    await this.#condition(() => ingesters.every(({ nodeId }) => nodeId !== undefined));
    for (const { name, options } of this.#tables) {
      const columns = [
        column('host', 'String', 'tag'),
        column(NUMBER, 'Int64', 'field'),
        column(TIME_COLUMN, TIME_TYPE, 'time'),
      ];
      const request = { database: 'public', tables: [{ name, columns, options }], create: true };
      await metadata.service?.ensureTables(request, ownCall('test'));
    }
    await this.#condition(() => [...gateways, ...queriers].every(({ isReady }) => isReady));
  }

  async #live(): Promise<void> {
    const { scheduler } = this.#world;
    const clients = this.#clients;
    const work = [200, 200, 200, 400, 400].map((restMs) => clients.write(restMs));
    work.push(clients.read(400), clients.read(600), clients.administer(this.#form.administerMs));
    const restMs = scheduler.random.pick([300, 1_000, 3_000]);
    void (this.#form.troubles === 'disk' ? this.#troubles.makeOfDisk(restMs) : this.#troubles.make(restMs));
    await scheduler.pass(3_000 + scheduler.random.fraction() * 4_000);
    clients.isOver = true;
    this.#troubles.isOver = true;
    await Promise.all(work);
  }

  async #heal(): Promise<void> {
    const { scheduler, settings } = this.#world;
    await this.#troubles.heal();
    await this.#condition(() => this.#members.queriers.every(({ isReady }) => isReady));
    // Gone nodes are adopted after a lease or two.
    await scheduler.pass(3 * settings.leaseMs);
    this.#clients.isStrict = true;
    for (const table of this.#tables) {
      for (const querier of this.#members.queriers) {
        while (!(await this.#clients.readOnce(table, querier))) await scheduler.pass(500);
      }
    }
    await this.#checkOwners();
    await this.#checkLogs();
  }

  /** Every region has a running owner. */
  async #checkOwners(): Promise<void> {
    const running = new Set(this.#members.ingesters.flatMap(({ nodeId }) => (nodeId === undefined ? [] : [nodeId])));
    const answer = await this.#members.metadata.service?.listTables({ database: 'public' }, ownCall('test'));
    for (const { regions } of answer?.tables ?? []) {
      for (const { regionId, nodeId } of regions) {
        invariant(running.has(nodeId), `region ${regionId} is at node ${nodeId}, which does not run`);
      }
    }
  }

  /** Once everything is flushed and the retry window has passed, a slot in use has hardly any log. */
  async #checkLogs(): Promise<void> {
    // An ingester that learns only now of a commit of its last run exits and restarts.
    let isFlushed = await this.#clients.flushAll();
    for (let i = 0; i < FLUSHES_MAX && !isFlushed; i++) {
      await this.#world.scheduler.pass(2_000);
      isFlushed = await this.#clients.flushAll();
    }
    invariant(isFlushed, 'tables cannot be flushed');
    await this.#world.scheduler.pass(this.#world.settings.retryWindowMs + 5_000);
    const { disk } = this.#world;
    for (const folder of disk.lockedFolders) {
      // An adoption that was cut short leaves the log's id.
      const files = disk.memoryFiles.filter(
        (path) => path.startsWith(`${folder}/wal/`) && !path.endsWith(`/${LOG_ID_FILE}`),
      );
      invariant(files.length <= LOG_FILES_MAX, `the log does not shrink: ${files.join()}`);
    }
  }

  async #condition(isMet: () => boolean): Promise<void> {
    while (!isMet()) await this.#world.scheduler.pass(20);
  }

  #end(): void {
    const { metadata, ingesters, gateways, queriers } = this.#members;
    for (const { life } of [...ingesters, ...gateways, ...queriers]) life.kill();
    metadata.kill();
  }
}

function several<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function tracked(name: string, options: Readonly<Record<string, string>>, mode: TrackedTable['mode']): TrackedTable {
  const history = { attempts: [], erasers: [], seenMs: new Map<number, number>() };
  return {
    name,
    options,
    mode,
    isAppendOnly: 'append_mode' in options,
    history,
    fields: [],
    knownFields: new Set(),
    droppedFields: new Set(),
  };
}

function column(name: string, type: string, kind: string): ColumnSpec {
  return { name, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '', indexes: [] };
}

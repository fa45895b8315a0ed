import { Adoption } from '#services/ingester/adoption';
import { drainRegions } from '#services/ingester/drain-regions';
import { startIngester, type IngesterConfig, type IngesterDeps, type RunningIngester } from '#services/ingester/index';
import { DeferredIngester } from '#services/ingester/deferred-ingester';
import { claimSlot } from '#services/ingester/slots';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { Loop } from '#shared/lifecycle/loop';
import { DataFolder } from '#shared/node/data-folder';

import { engineOf } from '../world/engine.js';
import type { Life } from '../world/life.js';
import { nodeLog } from '../world/node-log.js';
import { joinWorld, newLife, startAgainUnless, type Joined, type World } from './world.js';

/** An ingester process that is started, killed and started again, on any free slot. */
export class IngesterNode {
  readonly name: string;
  readonly #world: World;
  life: Life;
  #joined: Joined | undefined;
  #running: RunningIngester | undefined;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
    this.life = newLife(name, world);
    this.life.kill();
  }

  get runs(): boolean {
    return !this.life.isDead;
  }

  /** The node's id, once it has one in this life. */
  get nodeId(): number | undefined {
    return this.life.isDead ? undefined : this.#joined?.nodeId;
  }

  start(): void {
    const life = newLife(this.name, this.#world);
    this.life = life;
    this.#joined = undefined;
    this.#running = undefined;
    this.#world.scheduler.note(`${this.name} starts`);
    startAgainUnless(this.#start(life), this, this.#world.scheduler);
  }

  kill(): void {
    this.#world.scheduler.note(`${this.name} is killed`);
    this.life.kill();
  }

  /** Hands all regions over and exits, as at SIGTERM. */
  async drain(): Promise<void> {
    const { life } = this;
    const joined = this.#joined;
    const running = this.#running;
    if (joined === undefined || running === undefined) return;
    this.#world.scheduler.note(`${this.name} drains`);
    await life.during(drainRegions(joined.membership, running, life.clock, new AbortController().signal));
    await life.during(joined.membership.leave());
    this.#world.scheduler.note(`${this.name} has left`);
    life.kill();
  }

  async #start(life: Life): Promise<void> {
    const world = this.#world;
    const { scheduler, disk, metrics } = world;
    const { clock, random } = life;
    const fs = disk.fileSystemOf(life);
    const log = nodeLog(life, scheduler);
    const known: { metadata?: MetadataService; running?: RunningIngester } = {};
    const late = new DeferredIngester(() => known.metadata);
    world.network.listen(this.name, life, { Ingester: late.service });
    const folder = await DataFolder.open(world.folder, { fs, clock, random });
    const slot = await claimSlot({ dataFolder: world.folder, fs, random });
    const joined = await joinWorld(world, life, 'ingester', {
      slot: slot.identity,
      dataFolder: folder,
      onMoves: (regionIds) => void known.running?.handOver(regionIds, 0),
    });
    const { catalog, membership, metadata, nodeId } = joined;
    await folder.bind(membership.clusterId);
    known.metadata = metadata;
    const scratchFolder = `${world.folder}/scratch/ingester-${slot.number}`;
    scheduler.note(`${this.name} is node ${nodeId} in slot ${slot.number}`);
    const deps: IngesterDeps = {
      config: configOf(world, { nodeId, walFolder: slot.walFolder, scratchFolder }),
      fs,
      clock,
      random,
      metadata,
      onTableOpened: (table) => catalog.note(table),
      log,
      metrics,
      onProgress: () => undefined,
      onFatal: () => this.#onFatal(life),
      openEngine: () => Promise.resolve(engineOf(world.engine, life, scheduler)),
    };
    catalog.onDropped(({ tableId }) => late.tableDropped(tableId));
    const running = (known.running = await startIngester(deps));
    this.#joined = joined;
    this.#running = running;
    late.start(running);
    catalog.onTable((table) => running.tableChanged(table));
    running.begin(catalog.allTables());
    const adoption = new Adoption({
      ...deps,
      dataFolder: world.folder,
      walFolderOf: (slot) => slot.walFolder,
      catalog,
      leaseMs: membership.leaseMs,
    });
    const adopting = new Loop(
      { name: 'ingester.adoption', intervalMs: membership.leaseMs / 4, clock, log, metrics },
      () => adoption.look(),
    );
    await membership.reportState('ready');
    adopting.start();
  }

  /** Kills the process after a failure of its log, and restarts it, as a supervisor would. */
  #onFatal(life: Life): void {
    const { scheduler } = this.#world;
    scheduler.note(`${this.name} ends: its log failed`);
    life.kill();
    scheduler.after(200, undefined, () => {
      if (this.life === life) this.start();
    });
  }
}

function configOf(
  { folder, settings }: World,
  place: Pick<IngesterConfig, 'nodeId' | 'walFolder' | 'scratchFolder'>,
): IngesterConfig {
  return {
    ...place,
    storeFolder: `${folder}/store`,
    walSync: 'group',
    walSyncIntervalMs: 1000,
    walFileBytes: settings.walFileBytes,
    walBytesMax: 1 << 20,
    walRecover: 'strict',
    retryWindowMs: settings.retryWindowMs,
    flushBytes: settings.flushBytes,
    flushIntervalMs: settings.flushIntervalMs,
    windowMs: settings.windowMs,
    gcGraceMs: settings.gcGraceMs,
    compaction: settings.compaction,
    memtableBytes: 1 << 26,
    engineBytes: 1 << 26,
    seriesMax: 0,
    engineThreads: 1,
    opensRegions: true,
    regionsOpenedAtOnce: 2,
    recoveryThreads: 1,
  };
}

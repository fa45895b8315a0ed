import { mkdirSync } from 'node:fs';

import { startMetadata, type RunningMetadata } from '#services/metadata/index';
import { ownCall } from '#shared/contracts/call';
import { nodeFileSystem } from '#shared/fs/node-file-system';

import type { Life } from '../world/life.js';
import { nodeLog } from '../world/node-log.js';
import { METADATA, newLife, type World } from './world.js';

/** Receives the present id of a table; undefined if it was dropped. */
type OnTable = (name: string, tableId: number | undefined) => void;

/** Metadata over a real catalog file. What it acknowledged is on the disk, so a kill loses nothing. */
export class MetadataNode {
  readonly #world: World;
  readonly #onTable: OnTable;
  life: Life;
  #running: RunningMetadata | undefined;

  constructor(world: World, onTable: OnTable) {
    this.#world = world;
    this.#onTable = onTable;
    this.life = newLife(METADATA, world);
    this.life.kill();
  }

  get service(): RunningMetadata['service'] | undefined {
    return this.life.isDead ? undefined : this.#running?.service;
  }

  async start(): Promise<void> {
    const world = this.#world;
    const { scheduler, settings, metrics } = world;
    const life = newLife(METADATA, world);
    this.life = life;
    this.#running = undefined;
    scheduler.note('metadata starts');
    const folder = `${world.folder}/metadata`;
    mkdirSync(folder, { recursive: true });
    const starting = startMetadata({
      folder,
      fs: nodeFileSystem,
      clock: life.clock,
      random: life.random,
      log: nodeLog(life, scheduler),
      metrics,
      defaults: { regions: settings.regions, tablesMax: 100_000, columnsMax: 4096 },
      leaseMs: settings.leaseMs,
    });
    // It reads its migrations with the machine's own clock.
    const running = await scheduler.work(undefined, starting);
    if (life.isDead) return void running.stop();
    this.#running = running;
    world.network.listen(METADATA, life, { Metadata: running.service });
    void this.#follow(running);
  }

  kill(): void {
    this.life.kill();
    void this.#running?.stop();
  }

  /** Follows tables at the moment at which metadata changes them. */
  async #follow({ service }: RunningMetadata): Promise<void> {
    try {
      for await (const event of service.watch({ afterVersion: 0n }, ownCall('follow'))) {
        if (event.table !== undefined) this.#onTable(event.table.name, event.table.tableId);
        if (event.kind === 'table_dropped') this.#onTable(event.droppedTableName, undefined);
      }
    } catch {
      // It ends with its service.
    }
  }
}

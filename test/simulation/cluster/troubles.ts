import { AlmanacError } from '#shared/errors/almanac-error';
import { ownCall } from '#shared/contracts/call';

import type { GatewayNode } from '../nodes/gateway-node.js';
import { IngesterNode } from '../nodes/ingester-node.js';
import type { MetadataNode } from '../nodes/metadata-node.js';
import type { QuerierNode } from '../nodes/querier-node.js';
import { METADATA, type World } from '../nodes/world.js';
import type { Life } from '../world/life.js';
import { SOUND_DISK, type DiskFaults } from '../world/disk.js';
import { NO_FAULTS, type NetworkFaults } from '../world/network.js';

/** All nodes of a simulation. */
export interface Members {
  readonly metadata: MetadataNode;
  readonly ingesters: IngesterNode[];
  readonly gateways: readonly GatewayNode[];
  readonly queriers: readonly QuerierNode[];
}

interface Restartable {
  readonly name: string;
  readonly life: Life;
  start(): void;
  kill(): void;
}

const INGESTERS_MAX = 4;
const MOVES_AT_ONCE = 3;
const PATIENCE_MS = 500;
const BAD_NETWORK: NetworkFaults = { lost: 0.03, answersLost: 0, doubled: 0.08, slow: 0.03 };
const SLOW_NETWORK: NetworkFaults = { lost: 0, answersLost: 0, doubled: 0, slow: 0.5 };
const LOSING_NETWORK: NetworkFaults = { lost: 0, answersLost: 0.3, doubled: 0.1, slow: 0 };

/** Causes failures, one after the other, some of them at once. */
export class Troubles {
  readonly #world: World;
  readonly #members: Members;
  readonly #dropTable: () => void;
  isOver = false;

  /** @param dropTable lets a client drop a table. */
  constructor(world: World, members: Members, dropTable: () => void) {
    this.#world = world;
    this.#members = members;
    this.#dropTable = dropTable;
  }

  /** Causes the failures of a cluster. */
  make(restMs: number): Promise<void> {
    return this.#makeOf(restMs, [
      ...this.#kills(),
      () => this.#pause(),
      () => this.#cut(),
      () => this.#deafen(),
      () => this.#badNetwork(BAD_NETWORK),
      () => this.#loseAnswers(),
      () => this.#loseAnswers(),
      () => void this.#moveUnseen(),
      () => void this.#moveUnseen(),
      () => this.#move(),
      () => this.#move(),
      () => this.#move(),
      () => this.#drain(),
      () => this.#join(),
      () => this.#badDisk(),
      () => this.#fullDisk(),
    ]);
  }

  /** Causes the failures of one machine: its disk fails, it loses power. */
  makeOfDisk(restMs: number): Promise<void> {
    return this.#makeOf(restMs, [
      ...this.#kills(),
      () => this.#badDisk(),
      () => this.#failingDisk(0.02),
      () => this.#failingDisk(0.1),
      () => this.#failingDisk(0.5),
      () => this.#fullDisk(),
      () => this.#fullDisk(),
    ]);
  }

  /** Kills processes of every kind. */
  #kills(): (() => void)[] {
    return [
      () => this.#killIngester(),
      () => this.#killIngester(),
      () => void this.#killWhileWriting(),
      () => void this.#killWhileWriting(),
      () => void this.#killWhileCommitting(),
      () => this.#killOther(),
      () => this.#killMetadata(),
    ];
  }

  async #makeOf(restMs: number, kinds: readonly (() => void)[]): Promise<void> {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    while (!this.isOver) {
      await scheduler.pass(random.fraction() * 2 * restMs);
      if (!this.isOver) random.pick(kinds)();
    }
  }

  /** Ends all trouble; some ingesters, but not all, stay away. */
  async heal(): Promise<void> {
    const { network, disk, scheduler } = this.#world;
    const { metadata, ingesters, gateways, queriers } = this.#members;
    this.isOver = true;
    scheduler.note('all is healed');
    network.heal();
    disk.syncFaults = 0;
    disk.faults = SOUND_DISK;
    for (const { life } of [metadata, ...ingesters, ...gateways, ...queriers]) life.resume();
    if (metadata.life.isDead) await metadata.start();
    for (const node of [...gateways, ...queriers]) if (node.life.isDead) node.start();
    for (const node of ingesters) if (!node.runs && scheduler.random.fraction() < 0.5) node.start();
    if (!ingesters.some(({ runs }) => runs)) ingesters[0].start();
  }

  #killIngester(): void {
    const node = this.#pick(this.#members.ingesters.filter(({ runs }) => runs));
    if (node !== undefined) this.#kill(node);
  }

  /** Waits a little for the worst moment: something is written and not synced yet. */
  async #killWhileWriting(): Promise<void> {
    const { scheduler, disk } = this.#world;
    const node = this.#pick(this.#members.ingesters.filter(({ runs }) => runs));
    if (node === undefined) return;
    const { life } = node;
    const untilMs = scheduler.nowMs + PATIENCE_MS;
    while (!disk.hasUnsynced(life) && scheduler.nowMs < untilMs) await scheduler.pass(5);
    await scheduler.pass(scheduler.random.fraction() * 50);
    if (!life.isDead && !this.isOver) this.#kill(node);
  }

  /** Its commit arrives late, after the next run has sent the same again. */
  async #killWhileCommitting(): Promise<void> {
    const { scheduler, network } = this.#world;
    const node = this.#pick(this.#members.ingesters.filter(({ runs }) => runs));
    if (node === undefined) return;
    const { life } = node;
    const untilMs = scheduler.nowMs + PATIENCE_MS;
    network.faults = SLOW_NETWORK;
    // Longer than most messages take: what is still on its way is slow.
    while (!network.isOnTheWay(life, 'commitSegments') && scheduler.nowMs < untilMs) await scheduler.pass(6);
    network.faults = NO_FAULTS;
    if (life.isDead || this.isOver) return;
    node.kill();
    this.#startLater(node, 50);
  }

  #kill(node: IngesterNode): void {
    const { random } = this.#world.scheduler;
    const { ingesters } = this.#members;
    node.kill();
    // It comes back soon or late, another one takes its place, or none does.
    const chance = random.fraction();
    if (chance < 0.5 || ingesters.length === 1) this.#startLater(node, 1_000);
    else if (chance < 0.75) this.#startLater(node, 6_000);
    else if (chance < 0.9) this.#join();
  }

  #killOther(): void {
    const { gateways, queriers } = this.#members;
    const all: readonly Restartable[] = [...gateways, ...queriers];
    const node = this.#pick(all.filter(({ life }) => !life.isDead));
    if (node === undefined) return;
    node.kill();
    this.#startLater(node, 1_000);
  }

  #killMetadata(): void {
    const { metadata } = this.#members;
    const { scheduler } = this.#world;
    if (metadata.life.isDead) return;
    scheduler.note('metadata is killed');
    metadata.kill();
    this.#later(scheduler.random.fraction() ** 2 * 5_000, () => {
      if (metadata.life.isDead && !this.isOver) void metadata.start();
    });
  }

  #pause(): void {
    const { scheduler } = this.#world;
    const { metadata, ingesters, gateways, queriers } = this.#members;
    const node = this.#pick([metadata, ...ingesters, ...ingesters, ...gateways, ...queriers]);
    if (node === undefined || node.life.isDead) return;
    const forMs = scheduler.random.fraction() ** 2 * 6_000;
    scheduler.note(`${node.life.name} stands still for ${forMs.toFixed(0)} ms`);
    node.life.pause(forMs);
  }

  #cut(): void {
    const { scheduler } = this.#world;
    const { ingesters, gateways, queriers } = this.#members;
    const one = this.#pick([...ingesters, ...gateways, ...queriers])?.name ?? '';
    const other = scheduler.random.fraction() < 0.4 ? METADATA : (this.#pick(ingesters)?.name ?? '');
    if (one !== other) this.#cutOff(one, other);
  }

  #cutOff(one: string, other: string): void {
    const { scheduler, network } = this.#world;
    const forMs = scheduler.random.fraction() * 4_000;
    scheduler.note(`${one} and ${other} are cut off for ${forMs.toFixed(0)} ms`);
    network.cut(one, other);
    this.#later(forMs, () => network.mend(one, other));
  }

  /** Owners and a gateway are cut off from metadata: they continue with what they know, also of a dropped table. */
  #deafen(): void {
    const { scheduler, network } = this.#world;
    const { ingesters, gateways } = this.#members;
    const names = [...ingesters, scheduler.random.pick(gateways)].map(({ name }) => name);
    const forMs = scheduler.random.fraction() * 2_000;
    scheduler.note(`${names.join(', ')} do not hear metadata for ${forMs.toFixed(0)} ms`);
    for (const name of names) network.cut(name, METADATA);
    this.#dropTable();
    this.#later(forMs, () => {
      for (const name of names) network.mend(name, METADATA);
    });
  }

  /** Moves regions while replies are lost: owners and kept rows are uncertain. */
  #loseAnswers(): void {
    this.#badNetwork(LOSING_NETWORK);
    for (let i = 0; i < MOVES_AT_ONCE; i++) this.#move();
  }

  /** Neither an owner nor a querier learns that the owner's region has moved. */
  async #moveUnseen(): Promise<void> {
    const { scheduler, network } = this.#world;
    const { ingesters, queriers } = this.#members;
    const querier = this.#pick(queriers);
    this.#move();
    const untilMs = scheduler.nowMs + PATIENCE_MS;
    let owner: IngesterNode | undefined;
    while (owner === undefined && scheduler.nowMs < untilMs) {
      await scheduler.pass(1);
      owner = ingesters.find(({ life }) => network.isOnTheWay(life, 'sealRegion'));
    }
    if (owner === undefined || querier === undefined || this.isOver) return;
    this.#cutOff(owner.name, METADATA);
    this.#cutOff(querier.name, METADATA);
  }

  #badNetwork(faults: NetworkFaults): void {
    const { network, scheduler } = this.#world;
    scheduler.note(`the network is bad: ${JSON.stringify(faults)}`);
    network.faults = faults;
    this.#later(scheduler.random.fraction() * 4_000, () => {
      scheduler.note('the network is good again');
      network.faults = NO_FAULTS;
    });
  }

  #badDisk(): void {
    const { disk, scheduler } = this.#world;
    disk.syncFaults = 0.05;
    this.#later(scheduler.random.fraction() * 500, () => (disk.syncFaults = 0));
  }

  #failingDisk(failed: number): void {
    this.#disk({ failed, isFull: false });
  }

  /** Sometimes for longer than a log waits before it retries. */
  #fullDisk(): void {
    this.#disk({ failed: 0, isFull: true }, 3_000);
  }

  #disk(faults: DiskFaults, withinMs = 1_500): void {
    const { disk, scheduler } = this.#world;
    scheduler.note(`the disk is bad: ${JSON.stringify(faults)}`);
    disk.faults = faults;
    this.#later(scheduler.random.fraction() * withinMs, () => {
      scheduler.note('the disk is good again');
      disk.faults = SOUND_DISK;
    });
  }

  /** Moves a region to another ingester. */
  #move(): void {
    const { service } = this.#members.metadata;
    if (service === undefined) return;
    const call = ownCall('move');
    const run = async (): Promise<void> => {
      const { tables } = await service.listTables({ database: 'public' }, call);
      const region = this.#pick(tables.flatMap((table) => table.regions));
      const takers = this.#members.ingesters.flatMap(({ nodeId }) => (nodeId === undefined ? [] : [nodeId]));
      const toNodeId = this.#pick(takers.filter((nodeId) => nodeId !== region?.nodeId));
      if (region === undefined || toNodeId === undefined) return;
      this.#world.scheduler.note(`region ${region.regionId} shall move from ${region.nodeId} to ${toNodeId}`);
      await service.moveRegion({ regionId: region.regionId, toNodeId }, call);
    };
    run().catch((error: unknown) => this.#world.scheduler.note(`no move: ${AlmanacError.from(error).message}`));
  }

  #drain(): void {
    const running = this.#members.ingesters.filter(({ nodeId }) => nodeId !== undefined);
    const node = this.#pick(running);
    if (node === undefined || running.length < 2) return;
    node.drain().then(
      // No other ingester may be left.
      () => (this.isOver ? node.start() : this.#startLater(node, 4_000)),
      // It was killed meanwhile.
      () => undefined,
    );
  }

  #join(): void {
    const { ingesters } = this.#members;
    if (ingesters.length >= INGESTERS_MAX) return;
    const node = new IngesterNode(`ingester${ingesters.length}`, this.#world);
    ingesters.push(node);
    node.start();
  }

  #startLater(node: Restartable, withinMs: number): void {
    this.#later(this.#world.scheduler.random.fraction() * withinMs, () => {
      if (node.life.isDead && !this.isOver) node.start();
    });
  }

  #later(delayMs: number, run: () => void): void {
    this.#world.scheduler.after(delayMs, undefined, run);
  }

  #pick<T>(values: readonly T[]): T | undefined {
    return values.length === 0 ? undefined : this.#world.scheduler.random.pick(values);
  }
}

import { expect } from 'chai';

import type { Clock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { RegionInfo, RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import type {
  ColumnSpec,
  HeartbeatResponse,
  MetadataService,
  NodeInfo,
  SealRegionRequest,
  WatchEvent,
} from '#shared/contracts/gen/metadata';
import { ManualClock } from './manual-clock.js';

/** Registration of a process that does not report its data folder. */
export const NO_FOLDER = { dataFolderId: '', clusterId: '' } as const;

/** A metadata service, with or without a transport in between. */
export interface MetadataUnderTest {
  readonly service: MetadataService;
  /** Stops the service and starts it over the same file. */
  restart(): Promise<MetadataService>;
  stop(): Promise<void>;
}

/** Starts a metadata service for a test. */
export type StartMetadata = (clock: Clock) => Promise<MetadataUnderTest>;

const call = ownCall('test');

/** Returns a column of a table to create. */
export function column(name: string, type: string, kind: string): ColumnSpec {
  return { name, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '', indexes: [] };
}

/** A time index column. */
export const TIME = column('ts', 'TimestampMillisecond', 'time');
/** A tag column. */
export const HOST = column('host', 'String', 'tag');

/** Returns a value that must be defined. */
export function known<T>(value: T | undefined): T {
  return value ?? expect.fail('the answer has nothing in it');
}

/** Returns a segment with rows of these sequences. */
export function segment(path: string, sequenceFrom: bigint, sequenceTo: bigint): Segment {
  return {
    path,
    schemaVersion: 1,
    timeFirst: -5n,
    timeLast: 9_223_372_036_854_775_806n,
    rowCount: Number(sequenceTo - sequenceFrom),
    bytes: 5_000_000_000,
    sidFirst: 0,
    sidLast: 4_294_967_295,
    hasMetrics: true,
    metricFirst: 3,
    metricLast: 4_294_967_295,
    hasOps: false,
    sequenceFrom,
    sequenceTo,
    hasLate: true,
    lateFirst: -5n,
    lateLast: 7n,
    crc32c: 4_294_967_295,
  };
}

/** A watch, read event by event. */
export interface Watching {
  next(): Promise<WatchEvent>;
  end(): Promise<void>;
}

/** Starts a watch. */
export function watch(service: MetadataService, afterVersion: bigint): Watching {
  const cancel = new AbortController();
  const events = service.watch({ afterVersion }, ownCall('watch', cancel.signal))[Symbol.asyncIterator]();
  return {
    async next() {
      const result = await events.next();
      return result.done === true ? expect.fail('the watch ended') : result.value;
    },
    end() {
      cancel.abort();
      return Promise.resolve();
    },
  };
}

/** A metadata service with a clock that the test moves, and nodes that the test simulates. */
export class ClusterRig {
  readonly clock: ManualClock;
  service: MetadataService;
  readonly #metadata: MetadataUnderTest;

  private constructor(clock: ManualClock, metadata: MetadataUnderTest) {
    this.clock = clock;
    this.#metadata = metadata;
    this.service = metadata.service;
  }

  static async start(start: StartMetadata): Promise<ClusterRig> {
    const clock = new ManualClock();
    return new ClusterRig(clock, await start(clock));
  }

  async restart(): Promise<void> {
    this.service = await this.#metadata.restart();
  }

  stop(): Promise<void> {
    return this.#metadata.stop();
  }

  /**
   * Registers a node.
   * @returns its id.
   */
  async join(slot: string, role = 'ingester'): Promise<number> {
    const request = { role, addr: `${role}-${slot}:1`, slot, version: 'test', ...NO_FOLDER };
    return (await this.service.registerNode(request, call)).nodeId;
  }

  beat(nodeId: number, state = 'ready'): Promise<HeartbeatResponse> {
    return this.service.heartbeat({ nodeId, state }, call);
  }

  /**
   * Registers ingesters that can take regions.
   * @returns their ids.
   */
  async ready(...slots: readonly string[]): Promise<number[]> {
    const nodeIds: number[] = [];
    for (const slot of slots) {
      const nodeId = await this.join(slot);
      await this.beat(nodeId);
      nodeIds.push(nodeId);
    }
    return nodeIds;
  }

  /** Advances time while these nodes keep sending heartbeats. */
  async pass(ms: number, nodeIds: readonly number[]): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 2_500) {
      await this.clock.advance(Math.min(2_500, leftMs));
      for (const nodeId of nodeIds) await this.beat(nodeId);
    }
  }

  async create(name: string, regions = 1): Promise<Table> {
    const request = { database: 'public', name, columns: [HOST, TIME], options: {}, ifNotExists: false };
    return known((await this.service.createTable({ ...request, regions, primaryKey: [] }, call)).table);
  }

  find(name: string): Promise<Table> {
    return this.service.getTable({ database: 'public', name, tableId: 0 }, call);
  }

  /** Returns the first region of a table in its present state. */
  async region(name: string): Promise<RegionInfo> {
    return (await this.find(name)).regions[0];
  }

  async version(): Promise<bigint> {
    return (await this.service.listDatabases({}, call)).catalogVersion;
  }

  async node(nodeId: number): Promise<NodeInfo | undefined> {
    return (await this.service.listNodes({}, call)).nodes.find((node) => node.nodeId === nodeId);
  }

  async state(nodeId: number): Promise<string | undefined> {
    return (await this.node(nodeId))?.state;
  }

  /** Returns the number of regions that each node owns. */
  async loads(nodeIds: readonly number[]): Promise<number[]> {
    const nodes = await Promise.all(nodeIds.map((nodeId) => this.node(nodeId)));
    return nodes.map((node) => known(node).regionCount);
  }

  commit(region: RegionInfo, from: bigint, to: bigint, segments: readonly Segment[]): Promise<RegionManifest> {
    const { regionId, epoch } = region;
    const request = { regionId, epoch, watermarkFrom: from, watermarkTo: to, segments, seriesFiles: [] };
    return this.service.commitSegments(request, call);
  }

  /** Seals a region at its watermark, as its owner does. */
  async seal(region: RegionInfo, changes: Partial<SealRegionRequest> = {}): Promise<RegionInfo> {
    const { regionId, epoch, nodeId } = region;
    const { watermark } = await this.service.getManifest({ regionId }, call);
    const opening = changes.opening ?? (await this.#open(regionId, nodeId));
    const appliedIds = new Uint8Array(0);
    const request = { regionId, epoch, nodeId, watermark, appliedIds, toNodeId: 0, opening, ...changes };
    return known((await this.service.sealRegion(request, call)).region);
  }

  /** @returns the id of the opening; 0 if the region is not the node's. */
  async #open(regionId: number, nodeId: number): Promise<bigint> {
    try {
      return (await this.service.openRegion({ regionId, nodeId }, call)).opening;
    } catch {
      return 0n;
    }
  }

  /**
   * Sends a heartbeat and seals the regions in the response.
   * @returns their number.
   */
  async obey(nodeId: number, state = 'ready'): Promise<number> {
    const { regionIds } = await this.beat(nodeId, state);
    const { tables } = await this.service.listGrants({ nodeId }, call);
    const owned = new Map(tables.flatMap((table) => table.regions.map((region) => [region.regionId, region])));
    for (const regionId of regionIds) await this.seal(known(owned.get(regionId)));
    return regionIds.length;
  }

  /**
   * Sends heartbeats each second until no region should move.
   * @returns the number of moved regions.
   */
  async settle(nodeIds: readonly number[]): Promise<number> {
    for (let moves = 0, quiet = 0; ;) {
      await this.clock.advance(1_000);
      let count = 0;
      for (const nodeId of nodeIds) count += await this.obey(nodeId);
      moves += count;
      quiet = count === 0 ? quiet + 1 : 0;
      // A new node gets regions after a while.
      if (quiet > 3) return moves;
    }
  }
}

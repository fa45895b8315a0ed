// Generated from proto/almanac/v1/admin.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type { Empty } from './common.js';

export interface AdminService {
  status(request: StatusRequest, call: Call): Promise<StatusResponse>;
  /** Metrics in Prometheus's text format. */
  metrics(request: MetricsRequest, call: Call): Promise<MetricsResponse>;
  /** Effective configuration as TOML, secrets masked. */
  config(request: ConfigRequest, call: Call): Promise<ConfigResponse>;
  /** Changes the log filter and returns the previous one. */
  setLogFilter(request: SetLogFilterRequest, call: Call): Promise<SetLogFilterResponse>;
  /** CPU time of all threads while it is taken. Errors: ILLEGAL_STATE while another one is taken. */
  cpuProfile(request: CpuProfileRequest, call: Call): Promise<ProfileResponse>;
  /** Memory in use. Errors: INVALID_ARGUMENTS if allocations are not sampled. */
  heapProfile(request: Empty, call: Call): Promise<ProfileResponse>;
  /** Turns the recording of spans on and off. Errors: EXTERNAL if they cannot be sent anywhere. */
  setTracing(request: SetTracingRequest, call: Call): Promise<TracingState>;
  /** Turns the sampling of allocations, and the profiles at new peaks of memory, on and off. */
  setHeapSampling(request: SetHeapSamplingRequest, call: Call): Promise<HeapSampling>;
}

export interface StatusRequest {
  /** Whether to include `storage`. */
  readonly storage?: boolean | undefined;
}

export interface StatusResponse {
  readonly role: string;
  readonly nodeId: number;
  readonly version: string;
  readonly commit: string;
  readonly branch: string;
  readonly hostname: string;
  readonly nodeVersion: string;
  readonly startedMs: number;
  /** `starting`, `ready` or `draining`. */
  readonly state: string;
  /** While starting: what it waits for. */
  readonly waiting: readonly string[];
  /** While starting: replayed share of the log, 0 to 1. */
  readonly progress: number;
  /** If it was requested, and the process stores something. */
  readonly storage?: StorageStatus | undefined;
}

/**
 * What a process stores. Of an ingester: disks, log and merges; a member is absent if a disk does not respond. Of
 * metadata: segments and garbage of the whole cluster.
 */
export interface StorageStatus {
  /** Disk of the segments. */
  readonly diskTotalBytes?: number | undefined;
  readonly diskFreeBytes?: number | undefined;
  /** Disk of the write-ahead log. */
  readonly logDiskTotalBytes?: number | undefined;
  readonly logDiskFreeBytes?: number | undefined;
  /** Files of the write-ahead log. */
  readonly logBytes?: number | undefined;
  readonly runningMerges?: number | undefined;
  readonly segments?: number | undefined;
  /** Of live segments and series files. */
  readonly segmentBytes?: number | undefined;
  /** Replaced files that are not deleted yet. */
  readonly garbageFiles?: number | undefined;
  readonly garbageBytes?: number | undefined;
}

export interface MetricsRequest {
  /** True: OpenMetrics instead of the classic text. */
  readonly openMetrics: boolean;
}

export interface MetricsResponse {
  readonly contentType: string;
  readonly text: string;
}

export interface ConfigRequest {
  /** Whether each line ends with a comment that says where its value came from. */
  readonly sources: boolean;
}

export interface ConfigResponse {
  readonly toml: string;
}

export interface SetLogFilterRequest {
  /** Empty: only read. */
  readonly filter: string;
  /** Time after which the process goes back to the filter before; 0: never. */
  readonly forMs: number;
}

export interface SetLogFilterResponse {
  readonly previous: string;
  readonly current: string;
  /** When the process goes back, milliseconds since 1970; 0: never. */
  readonly untilMs: number;
  /** The filter that it then goes back to; empty: it does not. */
  readonly next: string;
}

export interface CpuProfileRequest {
  readonly seconds: number;
  /** Samples per second. */
  readonly frequency: number;
}

export interface ProfileResponse {
  /** In the format of pprof, gzipped. */
  readonly pprof: Uint8Array;
}

export interface SetHeapSamplingRequest {
  /** `activate`, `deactivate`, `activate_gdump` or `deactivate_gdump`. Empty: only read. */
  readonly change: string;
}

export interface HeapSampling {
  readonly active: boolean;
  /** Whether a profile is written at each new peak of memory. */
  readonly gdump: boolean;
}

export interface SetTracingRequest {
  /** `enable` or `disable`. Empty: only read. */
  readonly change: string;
}

export interface TracingState {
  readonly enabled: boolean;
}

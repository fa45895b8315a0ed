// Generated from proto/almanac/v1/processes.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type { Empty } from './common.js';

export interface ProcessesService {
  /**
   * Returns the statements and queries that run or wait, as far as the caller may see them: all for administrators of
   * every database, otherwise the caller's own.
   */
  listProcesses(request: Empty, call: Call): Promise<ListProcessesResponse>;
  /** Cancels one that the caller may see. */
  killProcess(request: KillProcessRequest, call: Call): Promise<KillProcessResponse>;
}

export interface RunningProcess {
  /** Unique in the cluster. */
  readonly number: number;
  /** Address of the querier; in a standalone process that of its main listener. */
  readonly addr: string;
  readonly database: string;
  /** SQL statement or PromQL query, cut to some length. */
  readonly query: string;
  /** Empty if there are no users. */
  readonly user: string;
  readonly startedMs: number;
}

export interface ListProcessesResponse {
  readonly processes: readonly RunningProcess[];
}

export interface KillProcessRequest {
  readonly number: number;
}

export interface KillProcessResponse {
  readonly killed: boolean;
}

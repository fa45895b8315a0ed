// Generated from proto/almanac/v1/processes.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type { Empty } from './common.js';

export interface ProcessesService {
  /**
   * Returns the statements and queries that run or wait, as far as the caller may see them: all for administrators of
   * every database, otherwise the caller's own.
   */
  listProcesses(request: Empty, call: Call): Promise<ListProcessesResponse>;
  /** Cancels one, or all of a request, as far as the caller may see them. */
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
  /** ID of the client's request, which the client may have chosen. */
  readonly queryId: string;
  /** `sql`, `promql`, `series` (labels, series and metadata) or `remote_read`. */
  readonly kind: string;
  /** Rows that were sent so far; absent for those that are not counted in rows. */
  readonly rowsSent?: number | undefined;
  /** Rows of tables that were read so far; absent where it is not known, like the following fields. */
  readonly rowsScanned?: number | undefined;
  /** Size of these rows in their segments, in bytes. */
  readonly bytesScanned?: number | undefined;
  /** Memory that is reserved for the query, in bytes. */
  readonly memoryBytes?: number | undefined;
  /** Share of the reading that is done, 0 to 1. */
  readonly progress?: number | undefined;
}

export interface ListProcessesResponse {
  readonly processes: readonly RunningProcess[];
}

export interface KillProcessRequest {
  /** 0: those of a request. */
  readonly number: number;
  readonly queryId: string;
}

export interface KillProcessResponse {
  readonly killed: boolean;
}

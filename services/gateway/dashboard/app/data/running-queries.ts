import { requestJson } from '../core/http.js';

/** A query, as `/v1/queries` lists it. */
export interface RunningQuery {
  readonly id: string;
  readonly process: string;
  readonly user: string;
  readonly db: string;
  readonly text: string;
  readonly kind: string;
  readonly started: string;
  readonly elapsed_ms: number;
  readonly rows_out: number | null;
  /** Null where it is not known, like the following figures. */
  readonly rows_scanned: number | null;
  readonly bytes_scanned: number | null;
  readonly memory_bytes: number | null;
  /** Share of the reading that is done, 0 to 1. */
  readonly progress: number | null;
  readonly node: string;
}

/** Returns what runs in all queriers, as far as the user may see it. @throws RequestError. */
export async function loadRunningQueries(signal: AbortSignal): Promise<readonly RunningQuery[]> {
  return (await requestJson<{ readonly queries: readonly RunningQuery[] }>('v1/queries', { signal })).queries;
}

import type { Call } from '#shared/contracts/call';
import type { AdminService } from '#shared/contracts/gen/admin';

import type { Handler } from '../request-context.js';

/** Whether the node can do its work, and if not, what it waits for. */
export interface Readiness {
  readonly ready: boolean;
  /** In words: `wal replay`. */
  readonly waiting: readonly string[];
  /** Share of the start that is done, 0 to 1. */
  readonly progress: number;
}

export interface AdminDeps {
  readonly admin: Pick<AdminService, 'status' | 'metrics' | 'config'>;
  readonly readiness: () => Readiness;
  readonly isDraining: () => boolean;
  readonly newCall: (requestId: string) => Call;
  readonly nowMs: () => number;
  readonly dashboardUrl: string | undefined;
  readonly version: string;
}

/** One path of the administration. */
export interface AdminEndpoint {
  readonly methods: readonly ('GET' | 'POST')[];
  readonly path: string;
  readonly handler: (deps: AdminDeps) => Handler;
}

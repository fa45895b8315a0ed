import type { LoadedConfig } from '#shared/config/load';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

import type { Service } from './service.js';

/** Which lines the process logs. */
export interface LogFilterText {
  read(): string;
  /** @throws `invalid_arguments` if the text is no filter; nothing changes then. */
  change(text: string): void;
}

/** What a process of any role gets from the program around it. */
export interface RoleOptions {
  readonly loaded: LoadedConfig;
  /** Its lines carry the role already. */
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly logFilter: LogFilterText;
  /** To be called once the process knows its number in the cluster: all lines of the log carry it from then on. */
  readonly onNodeId: (nodeId: number) => void;
}

/** A place where the process can be reached, for the log. */
export interface RoleAddress {
  /** A fixed phrase: `main listener is open`, `dashboard`. */
  readonly message: string;
  /** `http://127.0.0.1:4000`, `grpc://127.0.0.1:4011` */
  readonly url: string;
}

/** A role that is ready for work. Draining includes the wait of `shutdown.delay` after readiness ended. */
export interface RunningRole extends Service {
  /** The one that people look for last. */
  readonly addresses: readonly RoleAddress[];
}

/** Starts a role. Resolves when it is ready; the process may end at any time before. */
export type StartRole = (options: RoleOptions) => Promise<RunningRole>;

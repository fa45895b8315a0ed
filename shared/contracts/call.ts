/**
 * What accompanies every call of a service: when it must end, and how its caller gives up.
 *
 * The deadline is the caller's; a service never extends it. A cancelled call ends with `cancelled`, one past its
 * deadline with `deadline_exceeded`; both leave nothing half done that a retry could see.
 */
export interface Call {
  /** Wall clock, milliseconds since 1970. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Names the client's request in the logs of every process that works for it. */
  readonly requestId: string;
}

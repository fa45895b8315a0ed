/** A health check got no reply in time. */
export class TimeoutReached extends Error {
  constructor(timeoutMs: number) {
    super(`no reply within ${timeoutMs / 1000} s`);
  }
}

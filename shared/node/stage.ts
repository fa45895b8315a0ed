/** Start-up progress of a process, as it reports it. */
export class Stage {
  state: 'starting' | 'ready' | 'draining' = 'starting';
  /** While starting: what the process waits for, in words. */
  waiting: readonly string[];
  /** While starting: replayed share of the log, 0 to 1. */
  progress = 0;

  constructor(waiting: readonly string[]) {
    this.waiting = waiting;
  }

  /** Returns readiness as `/ready` reports it; a draining node still serves. */
  readiness(): { ready: boolean; isDraining: boolean; waiting: readonly string[]; progress: number } {
    const { state, waiting, progress } = this;
    return { ready: state !== 'starting', isDraining: state === 'draining', waiting, progress };
  }

  ready(): void {
    this.state = 'ready';
    this.waiting = [];
    this.progress = 1;
  }
}

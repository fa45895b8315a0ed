/** What a process is at, as it tells others. */
export class Stage {
  state: 'starting' | 'ready' | 'draining' = 'starting';
  /** While it starts: what it waits for, in words. */
  waiting: readonly string[];
  /** While it starts: share of the log that is replayed, 0 to 1. */
  progress = 0;

  constructor(waiting: readonly string[]) {
    this.waiting = waiting;
  }

  /** As the gateway's `/ready` and its routes see it: a node that drains still does its work. */
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

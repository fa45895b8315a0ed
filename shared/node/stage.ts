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

  ready(): void {
    this.state = 'ready';
    this.waiting = [];
    this.progress = 1;
  }
}

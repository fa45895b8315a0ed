/** Something that runs until it is stopped. Both methods may be called twice. */
export interface Service {
  /** Refuses new work and resolves when running work is complete. */
  drain(): Promise<void>;
  /** Releases everything: files, sockets, loops. Running work is cancelled. */
  stop(): Promise<void>;
}

/** Something that runs until it is told to end. Both calls may come twice. */
export interface Service {
  /** Takes no new work and ends when the work at hand is done. */
  drain(): Promise<void>;
  /** Gives everything back: files, sockets, loops. Work at hand is cut off. */
  stop(): Promise<void>;
}

/** A problem with files on disk, written for operators: `almanac check` prints one per line. */
export interface Problem {
  readonly path: string;
  readonly what: string;
  /** What cannot be read or done because of it. */
  readonly lost: string;
  /** What to do. */
  readonly remedy: string;
}

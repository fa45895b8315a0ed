/** Something wrong with files on the disk, told to people: `almanac check` prints one a line. */
export interface Problem {
  readonly path: string;
  readonly what: string;
  /** What cannot be read, or be done, for it. */
  readonly lost: string;
  /** What to do. */
  readonly remedy: string;
}

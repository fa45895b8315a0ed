/**
 * The only access to the disk, so that tests can inject faults.
 *
 * Paths are absolute or relative to the process; folders are created with `makeFolder`. All errors are Node's own
 * (`code` = ENOENT, ENOSPC ..); callers translate them with `diskError`.
 */
export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Names in the folder, sorted; empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
  /** Size in bytes; undefined if there is no such file. */
  size(path: string): Promise<number | undefined>;
  /** When a file was last written, milliseconds since 1970; undefined if there is no such file. */
  modifiedMs(path: string): Promise<number | undefined>;
  /** Returns a stamp synchronously, for files that are checked often: 2.5 us on ext4. Undefined if there is no such file. */
  stampSync(path: string): FileStamp | undefined;
  makeFolder(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; no error if it does not exist. */
  remove(path: string): Promise<void>;
  /** Removes a folder and its contents; no error if it does not exist. */
  removeFolder(path: string): Promise<void>;
  /**
   * Locks a folder for this process until the returned function is called or the process exits.
   *
   * @returns the function that unlocks; undefined if another process holds the lock.
   */
  tryLock(folder: string): (() => void) | undefined;
  /** Makes the names in a folder durable (created, renamed and removed files). */
  syncFolder(path: string): Promise<void>;
}

/** Identifies the state of a file: any write or replacement changes it. */
export interface FileStamp {
  readonly bytes: number;
  /** Milliseconds since 1970, with fractions. */
  readonly modifiedMs: number;
  readonly inode: number;
}

/**
 * `append` creates the file if needed and writes at its end; so does `log`, where what is written is also durable, as after
 * `syncData`, in one call instead of two. Until it is truncated or closed, a file opened as `log` may have zeros after its
 * end. `update` requires the file and writes at given positions.
 */
export type OpenMode = 'read' | 'append' | 'log' | 'update';

/** An open file. */
export interface OpenFile {
  /** Writes all parts in order at the end of the file (`append`, `log`). A short write is an error. */
  append(parts: readonly Uint8Array[]): Promise<void>;
  /** Reads up to `target.length` bytes at `position`; fewer only at the end of the file. @returns bytes read. */
  read(target: Uint8Array, position: number): Promise<number>;
  /** Makes the contents durable, not necessarily times (fdatasync). */
  syncData(): Promise<void>;
  /** Makes contents and all attributes durable (fsync). */
  sync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

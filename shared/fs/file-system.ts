/**
 * The only door to the disk, so that tests can put faults behind it.
 *
 * Paths are absolute or relative to the process; directories are made with `makeFolder`. All errors are Node's own
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
  /** At once, for files that are asked about often: 2.5 us on ext4. Undefined if there is no such file. */
  stampSync(path: string): FileStamp | undefined;
  makeFolder(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; no error if it is gone. */
  remove(path: string): Promise<void>;
  /** Removes a folder with all in it; no error if it is gone. */
  removeFolder(path: string): Promise<void>;
  /**
   * Claims a folder for this process, which keeps it until the returned function is called or the process ends.
   *
   * @returns gives the folder back; undefined if another process has it.
   */
  tryLock(folder: string): (() => void) | undefined;
  /** Makes the names in a folder durable (created, renamed and removed files). */
  syncFolder(path: string): Promise<void>;
}

/** A file that was written or replaced has another one. */
export interface FileStamp {
  readonly bytes: number;
  /** Milliseconds since 1970, with parts of them. */
  readonly modifiedMs: number;
  readonly inode: number;
}

/** `append` creates the file if needed and writes at its end; `update` needs the file and writes where it is told. */
export type OpenMode = 'read' | 'append' | 'update';

export interface OpenFile {
  /** Writes all parts one after the other at the file's end (`append`). A short write is an error. */
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

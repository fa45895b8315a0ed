import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { isDiskFull } from '#shared/fs/disk-error';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import { sealRecord } from './record.js';
import { createWalFile, type WalFile } from './wal-files.js';

export type SyncMode = 'group' | 'interval' | 'none';

export interface WalOptions {
  readonly folder: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly sync: SyncMode;
  readonly fileBytesMax: number;
  /** Called once, when a write or sync fails: what reached the disk is unknown, so the process has to end. */
  readonly onBroken: (error: unknown) => void;
  /**
   * Called instead if the disk takes no more bytes: all that was acknowledged is on it, so that it can be read until the
   * process ends. `onBroken` if not given.
   */
  readonly onFull?: (error: unknown) => void;
}

export interface WalStats {
  appendedBytes: number;
  syncs: number;
  records: number;
}

interface Waiting {
  readonly regionId: number;
  readonly sequenceTo: bigint;
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
  readonly onDurable: () => void;
  readonly onBroken: (error: AlmanacError) => void;
}

/**
 * The write-ahead log of a slot: records of all its regions, in files of bounded size.
 *
 * Group commit: records that arrive while a sync runs share the next one. After a failed write or sync the log
 * refuses everything; recovery reads the files back.
 */
export class Wal {
  readonly stats: WalStats = { appendedBytes: 0, syncs: 0, records: 0 };
  readonly #options: WalOptions;
  /** Oldest first; the last one is open. */
  readonly #files: WalFile[];
  #file: OpenFile;
  #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;
  #isBroken = false;
  #isFull = false;
  /** What broke it. */
  #failure: unknown;
  #isClosed = false;
  #hasUnsynced = false;

  private constructor(options: WalOptions, files: WalFile[], file: OpenFile) {
    this.#options = options;
    this.#files = files;
    this.#file = file;
  }

  /** Begins a new file behind `older`, the files that recovery found. */
  static async open(options: WalOptions, older: readonly WalFile[]): Promise<Wal> {
    const number = (older.at(-1)?.number ?? 0) + 1;
    const [walFile, file] = await createWalFile(options.fs, options.folder, number);
    return new Wal(options, [...older, walFile], file);
  }

  get files(): readonly WalFile[] {
    return this.#files;
  }

  get bytes(): number {
    let bytes = 0;
    for (const file of this.#files) bytes += file.bytes;
    return bytes;
  }

  /** @throws `storage_unavailable` if it takes no more writes for want of room. */
  checkRoom(): void {
    if (this.#isFull) throw refused(this.#failure);
  }

  /**
   * Appends one record.
   *
   * @param record `parts` are those of `encodeRecord`; they must not change until the record is durable.
   * @param onDurable called in the order of the appends, once the record is as durable as `sync` promises.
   * @param onBroken called instead if the log fails; the outcome is unknown then.
   */
  append(
    record: { regionId: number; sequenceTo: bigint; parts: readonly Uint8Array[] },
    onDurable: () => void,
    onBroken: (error: AlmanacError) => void,
  ): void {
    if (this.#isBroken || this.#isClosed) return onBroken(refused(this.#failure));
    let bytes = 0;
    for (const part of record.parts) bytes += part.length;
    this.#waiting.push({ ...record, bytes, onDurable, onBroken });
    this.#draining ??= this.#drain();
  }

  /** Makes everything that was appended durable, in modes that do not do so for each record. */
  async syncNow(): Promise<void> {
    await this.#draining;
    if (!this.#hasUnsynced || this.#isBroken || this.#isClosed) return;
    this.#hasUnsynced = false;
    try {
      await this.#file.syncData();
      this.stats.syncs++;
    } catch (error) {
      this.#break(error, []);
    }
  }

  /** Deletes the oldest file. It must not be the open one, and hold no row that is needed. */
  async forgetOldest(): Promise<void> {
    const [oldest] = this.#files;
    await this.#options.fs.remove(oldest.path);
    this.#files.shift();
  }

  /** Waits for appended records, syncs, and closes. Nothing can be appended afterwards. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.syncNow();
    this.#isClosed = true;
    await this.#draining;
    await this.#file.close();
  }

  async #drain(): Promise<void> {
    // One turn of the event loop lets requests that arrived together share the first sync.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(group);
      } catch (error) {
        this.#break(error, group);
        break;
      }
      for (const record of group) record.onDurable();
    }
    this.#draining = undefined;
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    const { sync, fileBytesMax, clock } = this.#options;
    let current = this.#files[this.#files.length - 1];
    if (current.bytes >= fileBytesMax) current = await this.#roll();
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for (const record of group) {
      sealRecord(record.parts, current.bytes);
      parts.push(...record.parts);
      bytes += record.bytes;
    }
    await this.#noteFull(this.#file.append(parts));
    if (sync === 'group') {
      await this.#file.syncData();
      this.stats.syncs++;
    } else {
      this.#hasUnsynced = true;
    }
    current.bytes += bytes;
    current.lastWriteMs = clock.nowMs();
    for (const { regionId, sequenceTo } of group) current.lastSequences.set(regionId, sequenceTo);
    this.stats.appendedBytes += bytes;
    this.stats.records += group.length;
  }

  async #roll(): Promise<WalFile> {
    const { fs, folder } = this.#options;
    const full = this.#file;
    const number = this.#files[this.#files.length - 1].number + 1;
    if (this.#hasUnsynced) await full.syncData();
    const [walFile, file] = await this.#noteFull(createWalFile(fs, folder, number));
    this.#file = file;
    this.#files.push(walFile);
    await full.close();
    return walFile;
  }

  /** Writes before were synced, and a new file holds nothing yet: if there is no room, nothing is in doubt but `writing`. */
  async #noteFull<T>(writing: Promise<T>): Promise<T> {
    try {
      return await writing;
    } catch (error) {
      this.#isFull = isDiskFull(error);
      throw error;
    }
  }

  #break(error: unknown, group: readonly Waiting[]): void {
    this.#isBroken = true;
    this.#failure = error;
    const lost = [...group, ...this.#waiting];
    this.#waiting = [];
    for (const record of lost) record.onBroken(refused(error));
    const { onBroken, onFull = onBroken } = this.#options;
    (this.#isFull ? onFull : onBroken)(error);
  }
}

function refused(cause?: unknown): AlmanacError {
  const text = `the write-ahead log takes no more writes${isDiskFull(cause) ? ': no space is left on its disk' : ''}`;
  return new AlmanacError('storage_unavailable', text, {
    ...(cause === undefined ? {} : { cause }),
    retryAfterSeconds: 5,
  });
}

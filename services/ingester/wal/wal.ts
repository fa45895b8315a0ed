import { randomFillSync } from 'node:crypto';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { isDiskFull } from '#shared/fs/disk-error';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import { bytesOfParts } from '#shared/fs/node-file';
import { sealRecord } from './record.js';
import { createWalFile, FILE_HEADER, walFilePath, type WalFile } from './wal-files.js';

/** When records are synced: before they are acknowledged (`group`), at an interval, or when the system likes (`none`). */
export type SyncMode = 'group' | 'interval' | 'none';

/** Configuration and callbacks of a log that is open for writing. */
export interface WalOptions {
  readonly folder: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly sync: SyncMode;
  readonly fileBytesMax: number;
  /** Called once if a write or sync fails for another reason than missing space. The process has to exit. */
  readonly onBroken: (error: unknown) => void;
  /** Called when the disk is full: appends fail until `onSpace` is called. */
  readonly onFull?: (error: unknown) => void;
  /** Called when the disk has space again and appends are accepted. */
  readonly onSpace?: () => void;
}

/** Totals since the log was opened. */
export interface WalStats {
  appendedBytes: number;
  syncs: number;
  records: number;
}

/** A record to append, and what to call when its outcome is known. */
export interface WalAppend {
  readonly regionId: number;
  readonly sequenceTo: bigint;
  /** Parts from `encodeRecord`; they must not change until the record is durable. */
  readonly parts: readonly Uint8Array[];
  /** Called in append order once the record is as durable as `sync` promises. */
  readonly onDurable: () => void;
  /** Called instead if the write or sync fails: the next start may still find the record. */
  readonly onFailed: (error: AlmanacError) => void;
}

/** Rest between two attempts to continue while the disk is full. */
const SPACE_RETRY_MS = 1_000;
/** Space that must be available before appends are accepted again; with less, the next writes would fail at once. */
const SPACE_BYTES_MIN = 8 << 20;
/** The system writes at most 1,024 parts in one call, and would sync after each. */
const PARTS_MAX = 1_024;
/** Written and removed to find out whether the disk has space. */
const PROBE_FILE = 'space.probe';

/**
 * The write-ahead log of a slot: records of all its regions, in files of bounded size.
 *
 * Group commit: records that arrive while a sync runs share the next one.
 *
 * A failed write or sync leaves the end of the file unknown: pages that could not be written may read back and still not
 * be on the disk. If the disk is full, everything after the last acknowledged record is cut off, and the log continues in
 * a new file once there is space. After any other failure it refuses appends; the next start recovers the files.
 */
export class Wal {
  readonly stats: WalStats = { appendedBytes: 0, syncs: 0, records: 0 };
  readonly #options: WalOptions;
  /** Oldest first; the last one is open. */
  readonly #files: WalFile[];
  #file: OpenFile;
  #waiting: WalAppend[] = [];
  #draining: Promise<void> | undefined;
  /** Error of appends while they are refused. */
  #refusal: AlmanacError | undefined;
  /** Waiting for space on a full disk. */
  #recovering: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #isClosed = false;
  /** Whether acknowledged records may not be synced yet; never in mode `group`. */
  #hasUnsynced = false;

  private constructor(options: WalOptions, files: WalFile[], file: OpenFile) {
    this.#options = options;
    this.#files = files;
    this.#file = file;
  }

  /** Starts a new file after `older`, the files that recovery found. */
  static async open(options: WalOptions, older: readonly WalFile[]): Promise<Wal> {
    const { fs, folder } = options;
    await fs.remove(`${folder}/${PROBE_FILE}`);
    const number = (older.at(-1)?.number ?? 0) + 1;
    const [walFile, file] = await createWalFile(fs, folder, number, modeOf(options));
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

  /** @throws `storage_unavailable` while appends are refused. */
  checkWritable(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** Appends one record. */
  append(record: WalAppend): void {
    const refusal = this.#isClosed ? refusalOf(undefined) : this.#refusal;
    if (refusal !== undefined) return record.onFailed(refusal);
    this.#waiting.push(record);
    this.#draining ??= this.#drain();
  }

  /**
   * Makes every acknowledged record durable, in modes that do not sync each one.
   *
   * @throws `storage_unavailable` if a failed log has records that are not synced.
   */
  async syncNow(): Promise<void> {
    await this.#draining;
    if (!this.#hasUnsynced || this.#isClosed) return;
    this.checkWritable();
    try {
      await this.#syncAcknowledged();
    } catch (error) {
      this.#fail(error, []);
    }
  }

  /** Deletes the oldest file. It must not be the open one, and must not hold rows that recovery needs. */
  async deleteOldest(): Promise<void> {
    const [oldest] = this.#files;
    await this.#options.fs.remove(oldest.path);
    this.#files.shift();
  }

  /** Waits for appended records, syncs, and closes. Nothing can be appended afterwards. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#closing.abort();
    await this.#recovering;
    if (this.#refusal === undefined) await this.syncNow();
    this.#isClosed = true;
    await this.#draining;
    // The last records may have met a full disk, and their cut still uses the file.
    await this.#recovering;
    await this.#file.close();
  }

  get #current(): WalFile {
    return this.#files[this.#files.length - 1];
  }

  async #drain(): Promise<void> {
    // Yielding once lets requests that arrived together share the first sync.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(group);
      } catch (error) {
        this.#fail(error, group);
        break;
      }
      for (const record of group) record.onDurable();
    }
    this.#draining = undefined;
  }

  async #write(group: readonly WalAppend[]): Promise<void> {
    const { sync, fileBytesMax, clock } = this.#options;
    if (this.#current.bytes >= fileBytesMax) await this.#startFile();
    const current = this.#current;
    const parts = group.flatMap((record) => record.parts);
    const bytes = bytesOfParts(parts);
    for (const record of group) sealRecord(record.parts, current.bytes);
    await this.#file.append(parts.length > PARTS_MAX ? [Buffer.concat(parts)] : parts);
    if (sync === 'group') this.stats.syncs++;
    else this.#hasUnsynced = true;
    current.bytes += bytes;
    current.lastWriteMs = clock.nowMs();
    for (const { regionId, sequenceTo } of group) current.lastSequences.set(regionId, sequenceTo);
    this.stats.appendedBytes += bytes;
    this.stats.records += group.length;
  }

  async #startFile(): Promise<void> {
    const { fs, folder } = this.#options;
    const previous = this.#file;
    const number = this.#current.number + 1;
    if (this.#options.sync === 'group') await this.#cutUnacknowledged();
    else await this.#syncAcknowledged();
    // An attempt on a full disk may have left a file without its whole header.
    await fs.remove(walFilePath(folder, number));
    const [walFile, file] = await createWalFile(fs, folder, number, modeOf(this.#options));
    this.#file = file;
    this.#files.push(walFile);
    await previous.close();
  }

  /** @throws an error that does not count as a full disk, because acknowledged records may be lost. */
  async #syncAcknowledged(): Promise<void> {
    if (!this.#hasUnsynced) return;
    this.#hasUnsynced = false;
    try {
      await this.#file.syncData();
      this.stats.syncs++;
    } catch (cause) {
      this.#hasUnsynced = true;
      throw new AlmanacError('storage_unavailable', 'acknowledged records could not be synced', { cause });
    }
  }

  #fail(error: unknown, group: readonly WalAppend[]): void {
    const { onBroken, onFull } = this.#options;
    const refusal = refusalOf(error);
    const failed = [...group, ...this.#waiting];
    this.#refusal = refusal;
    this.#waiting = [];
    for (const record of failed) record.onFailed(refusal);
    if (isDiskFull(error)) {
      onFull?.(error);
      const failedBytes = group.reduce((sum, { parts }) => sum + bytesOfParts(parts), 0);
      this.#recovering = this.#continueWithSpace(refusal, failedBytes);
    } else {
      onBroken(error);
    }
  }

  /** Cuts off what was not acknowledged, which may free the space that others need, then waits for space. */
  async #continueWithSpace(refusal: AlmanacError, failedBytes: number): Promise<void> {
    const { clock, fileBytesMax, onBroken, onSpace } = this.#options;
    const { signal } = this.#closing;
    // Enough for the records that failed, or the log would fail again with the next one. Random bytes, because a file
    // system may compress others to nothing.
    const probe = randomFillSync(new Uint8Array(Math.max(Math.min(SPACE_BYTES_MIN, fileBytesMax), failedBytes)));
    let isCut = false;
    for (let attempt = 0; ; attempt++) {
      try {
        if (!isCut) await this.#cutUnacknowledged();
        isCut = true;
        if (attempt > 0) {
          await this.#probeSpace(probe);
          // A failed sync of acknowledged records meanwhile breaks the log for good.
          if (this.#refusal !== refusal) return;
          if (this.#current.bytes > FILE_HEADER.length) await this.#startFile();
          this.#refusal = undefined;
          onSpace?.();
          return;
        }
      } catch (error) {
        if (!isDiskFull(error)) {
          this.#refusal = refusalOf(error);
          return onBroken(error);
        }
      }
      await clock.sleep(SPACE_RETRY_MS, signal);
      if (signal.aborted) return;
    }
  }

  /** Must be durable before the next file exists: only the last one may have a torn end, or zeros after its records. */
  async #cutUnacknowledged(): Promise<void> {
    await this.#file.truncate(this.#current.bytes);
    await this.#syncAcknowledged();
    await this.#file.sync();
  }

  /** Writes and removes a file. @throws if the disk does not have the space. */
  async #probeSpace(bytes: Uint8Array): Promise<void> {
    const { fs, folder } = this.#options;
    const path = `${folder}/${PROBE_FILE}`;
    const file = await fs.open(path, 'append');
    try {
      await file.append([bytes]);
      await file.syncData();
    } finally {
      await file.close();
      await fs.remove(path);
    }
  }
}

function modeOf({ sync }: WalOptions): 'append' | 'log' {
  return sync === 'group' ? 'log' : 'append';
}

function refusalOf(cause: unknown): AlmanacError {
  const reason = isDiskFull(cause) ? ': no space is left on its disk' : '';
  const text = `the write-ahead log does not accept writes${reason}`;
  return new AlmanacError('storage_unavailable', text, { cause, retryAfterSeconds: 5 });
}

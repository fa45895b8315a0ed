import type { Clock, Timer } from '#shared/clock/clock';

import type { ColumnCache, SegmentFile } from './column-cache.js';
import type { OpenSegment } from './segment-reader.js';

/** Number of files that stay open without being read. */
const FILES_MAX = 64;
/** A file that was merged away takes space on the disk until it is closed. */
const IDLE_MS = 5_000;

/** A file that is open, or being opened. */
interface OpenEntry {
  readonly opening: Promise<OpenSegment>;
  users: number;
  usedMs: number;
}

/** Keeps segments open for a while: on a busy machine, opening and closing a file takes longer than reading from it. */
export class OpenSegments {
  readonly #cache: ColumnCache;
  readonly #clock: Clock;
  /** By path, those that were used last at the end. */
  readonly #entries = new Map<string, OpenEntry>();
  #timer: Timer | undefined;

  constructor(cache: ColumnCache, clock: Clock) {
    this.#cache = cache;
    this.#clock = clock;
  }

  /** Runs `read` on a file. @throws `UnknownLayout` if the engine must read the file. */
  async use<T>(file: SegmentFile, read: (segment: OpenSegment) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(file.path) ?? { opening: this.#cache.open(file), users: 0, usedMs: 0 };
    this.#entries.delete(file.path);
    this.#entries.set(file.path, entry);
    entry.users++;
    let isRead = false;
    try {
      const result = await read(await entry.opening);
      isRead = true;
      return result;
    } finally {
      entry.users--;
      entry.usedMs = this.#clock.monotonicMs();
      // The file is opened again after an error, which may be one of its handle.
      if (!isRead && this.#entries.get(file.path) === entry) this.#entries.delete(file.path);
      if (this.#entries.get(file.path) !== entry) closeUnused(entry);
      this.#closeIdle();
    }
  }

  /** Closes the files that no read uses; others are closed at its end. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const entry of this.#entries.values()) closeUnused(entry);
    this.#entries.clear();
  }

  #closeIdle(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [path, entry] of this.#entries) {
      if (entry.users > 0) continue;
      if (this.#entries.size <= FILES_MAX && nowMs - entry.usedMs < IDLE_MS) continue;
      this.#entries.delete(path);
      closeUnused(entry);
    }
    if (this.#entries.size === 0 || this.#timer !== undefined) return;
    this.#timer = this.#clock.after(IDLE_MS, () => {
      this.#timer = undefined;
      this.#closeIdle();
    });
  }
}

/** Closes a file unless a read uses it, at whose end this is called again. */
function closeUnused({ opening, users }: OpenEntry): void {
  if (users > 0) return;
  opening.then((segment) => segment.close()).catch(() => undefined);
}

import { Worker } from 'node:worker_threads';

import type { Clock } from '#shared/clock/clock';
import { LoopLoad } from '#shared/clock/loop-load';

import type { CacheMemory, ClearableCache } from '../../common/cache-memory.js';
import type { NumberedSamples } from '../../common/metric-rows.js';
import type { RemoteWriteCache } from '../remote-write-cache.js';
import type { WorkerReply, WorkerRequest } from './messages.js';
import { ROW_BYTES, RowArrays } from './row-arrays.js';

/** Smaller compressed bodies take less time to decode than to transfer. */
const BODY_BYTES_MIN = 8 * 1024;
/** A larger decompressed body would occupy the worker for too long. */
const PLAIN_BYTES_MAX = 8 * 1024 * 1024;
/** Bodies in the worker at once. With more, the worker is busier than the main thread. */
const BODIES_MAX = 4;
/** Largest number of bodies that skip the worker after it could not match one of the same cache. */
const SKIPS_MAX = 64;
/** Caches whose series the worker holds. */
const CACHES_MAX = 16;
/** Series that are sent to the worker at once. */
const ADDED_SERIES_MAX = 5_000;
/** Heap bytes of a series in the worker, besides its labels. */
const SERIES_BYTES = 150;
/** Least memory of a slot: enough for 10,000 rows. */
const SLOT_BYTES_MIN = 256 * 1024;
/** A slot of more memory is not used again. */
const SLOT_BYTES_KEPT = 1024 * 1024;
/** Bytes that a row has in a decompressed body; the main thread decodes large bodies of shorter rows. */
const PLAIN_ROW_BYTES = 32;
/** Its garbage is small and short-lived, and V8 would let it grow to 48 MiB. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };
/** Time without a worker after its thread has died. */
const RESTART_DELAY_MS = 60_000;

/** The copy of a cache in the worker. */
interface WorkerCopy {
  readonly id: number;
  readonly epoch: number;
  /** Number of series in the copy. */
  count: number;
  /** Bodies that skip the worker since it could not match one, in total and still to come. */
  skips: number;
  skipsLeft: number;
}

/** Memory in which a body goes to the worker, and its rows come back. */
interface Slot {
  readonly id: number;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly rows: RowArrays;
}

/**
 * Decodes bodies of remote write in a worker thread while the main thread is busy: those that consist of known series
 * with one sample each. The main thread decodes all others, and reports all that are not valid.
 */
export class DecodeWorker implements ClearableCache {
  readonly #clock: Clock;
  readonly #load: LoopLoad;
  readonly #copies = new Map<RemoteWriteCache, WorkerCopy>();
  readonly #pending = new Map<number, (rowCount: number) => void>();
  /** Slots that no body is in. */
  #free: Slot[] = [];
  #worker: Worker | undefined = undefined;
  #lastId = 0;
  #restartMs = 0;

  constructor(memory: CacheMemory, clock: Clock, load = new LoopLoad(clock)) {
    this.#clock = clock;
    this.#load = load;
    memory.add(this);
  }

  /** Whether the worker should get the body. @param plainBytes size of the decompressed body. */
  isWorthwhile(cache: RemoteWriteCache, body: Buffer, plainBytes: number): boolean {
    // Nothing valid is larger compressed; without a valid size, what it has is unknown.
    const isUsual = body.length >= BODY_BYTES_MIN && plainBytes > 0 && plainBytes <= PLAIN_BYTES_MAX;
    if (!isUsual || body.length > PLAIN_BYTES_MAX || cache.numbered.all.length === 0) return false;
    if (this.#pending.size >= BODIES_MAX || !this.#load.isBusy) return false;
    const copy = this.#copies.get(cache);
    if (copy === undefined || copy.skipsLeft === 0) return this.#clock.monotonicMs() >= this.#restartMs;
    copy.skipsLeft--;
    return false;
  }

  /**
   * Lets the worker read a body.
   *
   * @param plainBytes size of the decompressed body.
   * @param use gets the rows, with the numbers of series in the cache; they are views that are valid until it returns.
   * @returns undefined if the main thread must decode the body.
   */
  async match<T>(
    cache: RemoteWriteCache,
    body: Buffer,
    plainBytes: number,
    use: (rows: NumberedSamples) => T,
  ): Promise<T | undefined> {
    const worker = (this.#worker ??= this.#start());
    const copy = this.#update(cache, worker);
    const slot = this.#slot(worker, Math.max(body.length, (plainBytes / PLAIN_ROW_BYTES) * ROW_BYTES));
    slot.bytes.set(body);
    const id = ++this.#lastId;
    const rowCount = await new Promise<number>((resolve) => {
      this.#pending.set(id, resolve);
      post(worker, { kind: 'match', cache: copy.id, id, slot: slot.id, length: body.length });
    });
    // The numbers hold only for the cache as it was when the body was sent.
    const isMatched = rowCount > 0 && cache.epoch === copy.epoch;
    copy.skips = isMatched ? 0 : Math.min(SKIPS_MAX, 2 * copy.skips + 1);
    copy.skipsLeft = copy.skips;
    try {
      return isMatched ? use(slot.rows.first(rowCount)) : undefined;
    } finally {
      if (worker === this.#worker) this.#release(slot, worker);
    }
  }

  clear(): void {
    for (const cache of this.#copies.keys()) this.#drop(cache);
    for (const { id } of this.#free) if (this.#worker !== undefined) post(this.#worker, { kind: 'free', slot: id });
    this.#free = [];
  }

  /** Ends the thread; the main thread decodes its bodies. */
  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Sends new series of the cache to the worker. */
  #update(cache: RemoteWriteCache, worker: Worker): WorkerCopy {
    let copy = this.#copies.get(cache);
    if (copy?.epoch !== cache.epoch) {
      this.#drop(cache);
      for (const oldest of this.#copies.keys()) {
        if (this.#copies.size < CACHES_MAX) break;
        this.#drop(oldest);
      }
      copy = { id: ++this.#lastId, epoch: cache.epoch, count: 0, skips: 0, skipsLeft: 0 };
      this.#copies.set(cache, copy);
    }
    const { all } = cache.numbered;
    const to = Math.min(all.length, copy.count + ADDED_SERIES_MAX);
    if (to === copy.count) return copy;
    const series = all.slice(copy.count, to).map(({ labels }) => labels);
    const labels = Buffer.concat(series);
    const lengths = Uint32Array.from(series, ({ length }) => length);
    post(worker, { kind: 'add', cache: copy.id, first: copy.count, lengths, labels });
    copy.count = to;
    cache.reserve(labels.length + SERIES_BYTES * series.length);
    return copy;
  }

  /** Returns a slot of at least that many bytes. */
  #slot(worker: Worker, bytes: number): Slot {
    const free = this.#free.pop();
    if (free !== undefined && free.bytes.length >= bytes) return free;
    const memory = new SharedArrayBuffer(Math.max(SLOT_BYTES_MIN, Math.ceil(bytes)));
    const slot = { id: free?.id ?? ++this.#lastId, bytes: new Uint8Array(memory), rows: new RowArrays(memory) };
    post(worker, { kind: 'memory', slot: slot.id, memory });
    return slot;
  }

  #release(slot: Slot, worker: Worker): void {
    if (slot.bytes.length <= SLOT_BYTES_KEPT) this.#free.push(slot);
    else post(worker, { kind: 'free', slot: slot.id });
  }

  #drop(cache: RemoteWriteCache): void {
    const copy = this.#copies.get(cache);
    if (copy === undefined) return;
    this.#copies.delete(cache);
    if (this.#worker !== undefined) post(this.#worker, { kind: 'drop', cache: copy.id });
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker-thread.js', import.meta.url), { resourceLimits: LIMITS });
    worker.on('message', (reply: WorkerReply) => {
      this.#pending.get(reply.id)?.(reply.rowCount);
      this.#pending.delete(reply.id);
    });
    // After an error the thread exits.
    worker.on('error', () => undefined);
    worker.on('exit', () => this.#ended());
    // The thread must not keep the process alive. Called last, since adding a listener undoes it.
    worker.unref();
    return worker;
  }

  /** Lets the main thread decode the pending bodies, and all others until the restart. */
  #ended(): void {
    this.#worker = undefined;
    this.#copies.clear();
    this.#restartMs = this.#clock.monotonicMs() + RESTART_DELAY_MS;
    this.#free = [];
    for (const resolve of this.#pending.values()) resolve(0);
    this.#pending.clear();
  }
}

function post(worker: Worker, message: WorkerRequest): void {
  worker.postMessage(message);
}

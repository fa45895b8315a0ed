import { Worker } from 'node:worker_threads';

import type { Clock } from '#shared/clock/clock';
import { LoopLoad } from '#shared/clock/loop-load';

import type { Forgetful, SeriesMemory } from '../../common/series-memory.js';
import type { SeriesCache } from '../series-cache.js';
import type { MatchedRows } from './label-book.js';
import type { FromHelper, ToHelper } from './messages.js';

/** Smaller bodies are decoded in the time that it takes to hand them over. */
const PACKED_BYTES_MIN = 8 * 1024;
/** Decompressed; a larger one would take the helper from the others for too long. */
const PLAIN_BYTES_MAX = 8 * 1024 * 1024;
/** Bodies at the helper. With more it is the busier one of the two. */
const BODIES_MAX = 2;
/** Senders with bodies that the helper cannot read are not tried for so many bodies, at most. */
const PASSES_MAX = 64;
/** Caches that the helper knows series of. */
const CACHES_MAX = 16;
/** Series that it is told of at once. */
const LEARN_MAX = 5_000;
/** What a series takes there besides its labels. */
const SERIES_BYTES = 150;
/** After its thread has died. */
const REST_MS = 60_000;

/** A cache as the helper knows it. */
interface Taught {
  readonly id: number;
  readonly epoch: number;
  /** Series that it was told of. */
  count: number;
  /** Bodies that it was not asked about since it could not read one, and those that it is still not to be asked about. */
  passes: number;
  passesLeft: number;
}

/**
 * Has bodies of remote write read by a thread of its own, when this one is busy: those that consist of known series with
 * a sample each. All others, and all that are wrong in any way, are decoded here, as if there was no helper.
 */
export class Helper implements Forgetful {
  readonly #clock: Clock;
  readonly #load: LoopLoad;
  readonly #taught = new Map<SeriesCache, Taught>();
  readonly #waiting = new Map<number, (answer: FromHelper | undefined) => void>();
  #worker: Worker | undefined = undefined;
  #lastId = 0;
  #restsUntilMs = 0;

  constructor(memory: SeriesMemory, clock: Clock, load = new LoopLoad(clock)) {
    this.#clock = clock;
    this.#load = load;
    memory.add(this);
  }

  /** Whether it is worth asking. @param plainBytes of the body, decompressed. */
  isFor(cache: SeriesCache, packed: Buffer, plainBytes: number): boolean {
    if (packed.length < PACKED_BYTES_MIN || plainBytes > PLAIN_BYTES_MAX || cache.numbered.length === 0) return false;
    if (this.#waiting.size >= BODIES_MAX || !this.#load.isBusy) return false;
    const taught = this.#taught.get(cache);
    if (taught === undefined || taught.passesLeft === 0) return this.#clock.monotonicMs() >= this.#restsUntilMs;
    taught.passesLeft--;
    return false;
  }

  /** The rows of a body, by numbers of series of the cache; undefined if it has to be decoded here. */
  async read(cache: SeriesCache, packed: Buffer): Promise<MatchedRows | undefined> {
    const worker = (this.#worker ??= this.#start());
    const taught = this.#teach(cache, worker);
    const id = ++this.#lastId;
    const bytes = new Uint8Array(packed);
    const answer = await new Promise<FromHelper | undefined>((resolve) => {
      this.#waiting.set(id, resolve);
      post(worker, { kind: 'body', cache: taught.id, id, packed: bytes }, [bytes.buffer]);
    });
    // Numbers mean what they meant when the body was sent.
    if (answer?.words === undefined || cache.epoch !== taught.epoch) {
      taught.passes = Math.min(PASSES_MAX, 2 * taught.passes + 1);
      taught.passesLeft = taught.passes;
      return undefined;
    }
    taught.passes = 0;
    return { words: answer.words, rowCount: answer.rowCount };
  }

  clear(): void {
    for (const cache of this.#taught.keys()) this.#forget(cache);
  }

  /** Ends its thread; bodies that it has are decoded here. */
  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  #teach(cache: SeriesCache, worker: Worker): Taught {
    let taught = this.#taught.get(cache);
    if (taught?.epoch !== cache.epoch) {
      this.#forget(cache);
      for (const oldest of this.#taught.keys()) {
        if (this.#taught.size < CACHES_MAX) break;
        this.#forget(oldest);
      }
      taught = { id: ++this.#lastId, epoch: cache.epoch, count: 0, passes: 0, passesLeft: 0 };
      this.#taught.set(cache, taught);
    }
    const { numbered } = cache;
    const to = Math.min(numbered.length, taught.count + LEARN_MAX);
    if (to === taught.count) return taught;
    const series = numbered.slice(taught.count, to).map(({ labels }) => labels);
    const labels = Buffer.concat(series);
    const lengths = Uint32Array.from(series, ({ length }) => length);
    post(worker, { kind: 'learn', cache: taught.id, first: taught.count, lengths, labels });
    taught.count = to;
    cache.charge(labels.length + SERIES_BYTES * series.length);
    return taught;
  }

  #forget(cache: SeriesCache): void {
    const taught = this.#taught.get(cache);
    if (taught === undefined) return;
    this.#taught.delete(cache);
    if (this.#worker !== undefined) post(this.#worker, { kind: 'forget', cache: taught.id });
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker-thread.js', import.meta.url));
    worker.on('message', (answer: FromHelper) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    // What becomes of an error is an exit.
    worker.on('error', () => undefined);
    worker.on('exit', () => this.#ended());
    // It must not keep a process alive that has nothing else to do. Last, since who listens holds it.
    worker.unref();
    return worker;
  }

  /** Bodies that it had are decoded here, and so are all for a while. */
  #ended(): void {
    this.#worker = undefined;
    this.#taught.clear();
    this.#restsUntilMs = this.#clock.monotonicMs() + REST_MS;
    for (const resolve of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
  }
}

function post(worker: Worker, message: ToHelper, transferred: readonly ArrayBuffer[] = []): void {
  worker.postMessage(message, transferred);
}

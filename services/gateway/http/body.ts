import type { IncomingMessage } from 'node:http';

import type { Clock } from '#shared/clock/clock';
import { callError, type Call } from '#shared/contracts/call';
import { freeBuffer } from '#shared/bytes/free-buffer';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MemoryBudget } from '#shared/limits/memory-budget';

import type { AcceptedEncodings, BodyEncoding } from '../protocols/protocol.js';
import { bodyTooLarge } from './block-codecs.js';
import type { BufferPool } from './buffer-pool.js';
import { bodyEncoding, decompressBody, decompressedBytesMax } from './decompress.js';

/** Longest time that a body waits for memory of others. */
const MEMORY_WAIT_MS = 10_000;
/** Largest announced length for which the whole buffer is allocated at once. */
const ANNOUNCED_BYTES_MAX = 8 * 1024 * 1024;
/** Bytes that must have come before the whole buffer of a longer body is allocated. */
const RECEIVED_BYTES_MIN = 1024 * 1024;

/** A whole body, decompressed. After `release`, `bytes` must not be used. */
export interface RequestBody {
  readonly bytes: Buffer;
  release(): void;
}

interface ReceivedBody {
  readonly bytes: Buffer;
  readonly encoding: BodyEncoding | undefined;
  /** Largest decompressed length; 0 if the body is plain. */
  readonly plainBytesMax: number;
}

/** A body as it was sent. Either `decompress` or `release` ends its use. */
export interface EncodedBody extends ReceivedBody {
  /**
   * Reserves memory for another decompressed copy. Returns the release function, or undefined if there is not enough.
   */
  reservePlain(): (() => void) | undefined;
  /** @throws as `BodyReader.read` does. */
  decompress(): Promise<RequestBody>;
  release(): void;
}

/** Options of a `BodyReader`. */
export interface BodyReaderOptions {
  /** Largest body before and after decompression; 0 for no limit. */
  readonly limitBytes: number;
  readonly budget: MemoryBudget;
  readonly buffers: BufferPool;
  readonly clock: Clock;
  /** Called for each body that is refused for want of memory. */
  readonly onRefused: () => void;
}

interface ReceiptOptions extends Pick<BodyReaderOptions, 'limitBytes' | 'budget' | 'buffers'> {
  readonly unneeded: UnneededChunks;
}

/** Receives bodies within a limit for each and a budget for all; counts the bytes that come, not what headers say. */
export class BodyReader {
  readonly #limitBytes: number;
  readonly #budget: MemoryBudget;
  readonly #buffers: BufferPool;
  readonly #unneeded: UnneededChunks;
  readonly #onRefused: () => void;

  constructor({ limitBytes, budget, buffers, clock, onRefused }: BodyReaderOptions) {
    // A buffer cannot be larger than this in any case.
    this.#limitBytes = limitBytes === 0 ? 2 ** 31 - 1 : limitBytes;
    this.#budget = budget;
    this.#buffers = buffers;
    this.#unneeded = new UnneededChunks(clock);
    this.#onRefused = onRefused;
  }

  /**
   * Receives and decompresses the body.
   *
   * @throws `invalid_arguments` (400 or 413), `unsupported` (415), `region_busy` if there is no memory for it, and the
   *   error of the call when that ends.
   */
  async read(request: IncomingMessage, accepted: AcceptedEncodings, call: Call): Promise<RequestBody> {
    return (await this.receive(request, accepted, call)).decompress();
  }

  /** Receives the body as it is sent. @throws as `read` does. */
  async receive(request: IncomingMessage, accepted: AcceptedEncodings, call: Call): Promise<EncodedBody> {
    const encoding = bodyEncoding(request.headers['content-encoding'], accepted);
    const options = {
      limitBytes: this.#limitBytes,
      budget: this.#budget,
      buffers: this.#buffers,
      unneeded: this.#unneeded,
    };
    const receipt = new Receipt(request, options, call);
    const bytes = await this.#orRelease(receipt, () => receipt.done);
    const plainBytesMax = encoding === undefined ? 0 : decompressedBytesMax(encoding, bytes, this.#limitBytes);
    return {
      bytes,
      encoding,
      plainBytesMax,
      reservePlain: () => this.#reserve(plainBytesMax),
      decompress: () =>
        this.#orRelease(receipt, () => this.#decompress({ bytes, encoding, plainBytesMax }, receipt, call)),
      release: () => receipt.release(),
    };
  }

  async #orRelease<T>(receipt: Receipt, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      receipt.release();
      if (error instanceof AlmanacError && error.code === 'region_busy') this.#onRefused();
      throw error;
    }
  }

  #reserve(byteCount: number): (() => void) | undefined {
    const { usedBytes, limitBytes, waitingCount } = this.#budget;
    if (waitingCount > 0 || usedBytes + byteCount > limitBytes) return undefined;
    this.#budget.charge(byteCount);
    return () => this.#budget.release(byteCount);
  }

  async #decompress(body: ReceivedBody, receipt: Receipt, call: Call): Promise<RequestBody> {
    const { bytes, encoding, plainBytesMax } = body;
    if (encoding === undefined) return { bytes, release: () => receipt.release() };
    const budget = this.#budget;
    await budget.admit(plainBytesMax, call.signal, MEMORY_WAIT_MS);
    try {
      const plain = await decompressBody(bytes, encoding, this.#limitBytes);
      // Reserved before the rest is released, so that no other body gets the memory in between.
      budget.charge(plain.length);
      return { bytes: plain, release: () => free(plain, budget) };
    } finally {
      budget.release(plainBytesMax);
      receipt.release();
    }
  }
}

function free(plain: Buffer, budget: MemoryBudget): void {
  budget.release(plain.length);
  freeBuffer(plain);
}

const EMPTY = Buffer.alloc(0);

/**
 * Frees chunks that the HTTP parser passed and nothing needs any more: up to 40 MiB of them would wait for the garbage
 * collector.
 */
class UnneededChunks {
  readonly #clock: Clock;
  #chunks: Buffer[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Frees a chunk later: with TLS the parser passes bytes that it may still be reading, otherwise copies. */
  free(chunk: Buffer): void {
    if (chunk.length === 0 || chunk.length !== chunk.buffer.byteLength) return;
    if (this.#chunks.push(chunk) === 1) void this.#clock.yield().then(() => this.#freeAll());
  }

  #freeAll(): void {
    const unneeded = this.#chunks;
    this.#chunks = [];
    for (const chunk of unneeded) freeBuffer(chunk);
  }
}

/** Receives one body. */
class Receipt {
  readonly done: Promise<Buffer>;
  readonly #request: IncomingMessage;
  readonly #limitBytes: number;
  readonly #budget: MemoryBudget;
  readonly #buffers: BufferPool;
  readonly #unneeded: UnneededChunks;
  readonly #call: Call;
  /** Length that the client announced, 0 if unknown. */
  readonly #declaredBytes: number;
  #bytes: Buffer = EMPTY;
  /** Whether `#bytes` came from the pool. */
  #isPooled = false;
  #length = 0;
  #chargedBytes = 0;
  #isOver = false;
  #resolve: (bytes: Buffer) => void = () => undefined;
  #reject: (error: AlmanacError) => void = () => undefined;

  constructor(request: IncomingMessage, { limitBytes, budget, buffers, unneeded }: ReceiptOptions, call: Call) {
    this.#request = request;
    this.#limitBytes = limitBytes;
    this.#budget = budget;
    this.#buffers = buffers;
    this.#unneeded = unneeded;
    this.#call = call;
    this.#declaredBytes = Number(request.headers['content-length'] ?? 0);
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#start();
  }

  release(): void {
    const bytes = this.#chargedBytes;
    this.#chargedBytes = 0;
    if (bytes > 0) this.#budget.release(bytes);
    if (this.#isPooled) this.#buffers.give(this.#bytes);
    else this.#unneeded.free(this.#bytes);
    this.#isPooled = false;
    this.#bytes = EMPTY;
  }

  #start(): void {
    const { signal } = this.#call;
    if (this.#declaredBytes > this.#limitBytes) return this.#fail(bodyTooLarge(this.#limitBytes));
    if (signal.aborted) return this.#fail(callError(signal));
    this.#request.on('data', this.#onData);
    this.#request.on('end', this.#onEnd);
    this.#request.on('error', this.#onGone);
    this.#request.on('close', this.#onGone);
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #onData = (chunk: Buffer): void => {
    const length = this.#length + chunk.length;
    if (length > this.#limitBytes) return this.#fail(bodyTooLarge(this.#limitBytes));
    // Most small bodies come in one chunk, which is not copied.
    if (this.#length === 0 && chunk.length === this.#declaredBytes) this.#bytes = chunk;
    else {
      this.#copy(chunk, length);
      this.#unneeded.free(chunk);
    }
    this.#length = length;
    const { usedBytes, limitBytes, waitingCount } = this.#budget;
    if (waitingCount === 0 && usedBytes + chunk.length <= limitBytes) {
      this.#budget.charge(chunk.length);
      this.#chargedBytes += chunk.length;
    } else {
      void this.#waitForMemory(chunk.length);
    }
  };

  readonly #onEnd = (): void => {
    // The stream does not end while it is paused.
    if (this.#finish()) this.#resolve(this.#bytes.subarray(0, this.#length));
  };

  readonly #onGone = (): void => {
    if (!this.#request.complete) this.#fail(new AlmanacError('cancelled', 'the client went away'));
  };

  readonly #onAbort = (): void => this.#fail(callError(this.#call.signal));

  #copy(chunk: Buffer, length: number): void {
    if (length > this.#bytes.length) {
      // Growing step by step would block the event loop for 20 ms when 32 MiB are copied.
      const isTrusted = this.#length >= RECEIVED_BYTES_MIN || this.#declaredBytes <= ANNOUNCED_BYTES_MAX;
      const announced = isTrusted ? this.#declaredBytes : RECEIVED_BYTES_MIN;
      const grown = this.#buffers.take(Math.max(length, announced, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.#length);
      if (this.#isPooled) this.#buffers.give(this.#bytes);
      this.#bytes = grown;
      this.#isPooled = true;
    }
    chunk.copy(this.#bytes, this.#length);
  }

  async #waitForMemory(byteCount: number): Promise<void> {
    this.#request.pause();
    try {
      await this.#budget.admit(byteCount, this.#call.signal, MEMORY_WAIT_MS);
      this.#chargedBytes += byteCount;
      if (this.#isOver) this.release();
      else this.#request.resume();
    } catch (error) {
      this.#fail(AlmanacError.from(error));
    }
  }

  #fail(error: AlmanacError): void {
    if (!this.#finish()) return;
    this.release();
    // The rest of the body is read and dropped, so that the client sees the response.
    this.#request.resume();
    this.#reject(error);
  }

  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#request.off('data', this.#onData);
    this.#request.off('end', this.#onEnd);
    this.#request.off('error', this.#onGone);
    this.#request.off('close', this.#onGone);
    this.#call.signal.removeEventListener('abort', this.#onAbort);
    return true;
  }
}

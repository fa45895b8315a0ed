import { compress } from 'snappy';

import { writeVarint } from '#shared/bytes/varint';
import type { Call } from '#shared/contracts/call';
import type { PromReadPart } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MemoryBudget } from '#shared/limits/memory-budget';

/** Longest time to wait for memory; shorter for a response that holds memory for which others may wait. */
const MEMORY_WAIT_MS = 10_000;
const HOLDING_WAIT_MS = 1000;
const QUERY_RESULT = 0x0a;
const VARINT_BYTES_MAX = 5;
/** Largest response, well within the range of the length of a block. */
const BLOCK_BYTES_MAX = 2 ** 31;

/** Limits of a whole response. */
export interface SnappyResponseLimits {
  /** Largest response before compression. */
  readonly bytesMax: number;
  readonly budget: ReadReplyBudget;
}

/** Memory for responses: a share of the memory for requests, so that responses cannot use up all of it. */
export interface ReadReplyBudget {
  readonly replies: MemoryBudget;
  /** Memory of all requests, which counts responses as well. */
  readonly requests: MemoryBudget;
}

/** A snappy block in parts; `release` frees its memory. */
export interface SnappyResponse {
  readonly parts: readonly Uint8Array[];
  release(): void;
}

/**
 * Makes a ReadResponse as one snappy block. The lengths of the block and of each result precede them, so the response
 * must be complete before its first byte is sent. It is compressed part by part, so that it is never in memory as a
 * whole: elements of a block refer only to their own 64 KiB, so the elements of several blocks can be joined.
 *
 * @throws `invalid_arguments` if it is too large, `region_busy` if there is no memory for it.
 */
export async function snappyResponse(
  parts: AsyncIterable<PromReadPart>,
  queryCount: number,
  { bytesMax, budget }: SnappyResponseLimits,
  call: Call,
): Promise<SnappyResponse> {
  const results = Array.from({ length: queryCount }, () => new ReadResult());
  let heldBytes = 0;
  let plainBytes = 0;
  const release = (): void => {
    budget.replies.release(heldBytes);
    budget.requests.release(heldBytes);
    heldBytes = 0;
  };
  try {
    for await (const { query, data } of parts) {
      plainBytes += data.length;
      if (plainBytes > Math.min(bytesMax, BLOCK_BYTES_MAX)) throw tooLarge(bytesMax);
      const elements = withoutLength(await compress(Buffer.from(data.buffer, data.byteOffset, data.length)));
      // The response would wait for its own memory.
      if (heldBytes > 0 && heldBytes + elements.length > budget.replies.limitBytes) throw noMemory(budget.replies);
      await budget.replies.admit(elements.length, call.signal, heldBytes === 0 ? MEMORY_WAIT_MS : HOLDING_WAIT_MS);
      budget.requests.charge(elements.length);
      heldBytes += elements.length;
      results[query].add(elements, data.length);
    }
  } catch (error) {
    release();
    throw error;
  }
  const total = results.reduce((sum, { wireBytes }) => sum + wireBytes, 0);
  return { parts: [varint(total), ...results.flatMap((result) => result.elements())], release };
}

/** The result of one query. */
class ReadResult {
  readonly #elements: Uint8Array[] = [];
  #bytes = 0;

  add(elements: Uint8Array, plainBytes: number): void {
    this.#elements.push(elements);
    this.#bytes += plainBytes;
  }

  /** Bytes of the result with its tag and length. */
  get wireBytes(): number {
    return this.#head.length + this.#bytes;
  }

  elements(): Uint8Array[] {
    const head = this.#head;
    // The tag of a literal of this length.
    return [Uint8Array.of((head.length - 1) << 2), head, ...this.#elements];
  }

  get #head(): Uint8Array {
    return Uint8Array.of(QUERY_RESULT, ...varint(this.#bytes));
  }
}

function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(VARINT_BYTES_MAX);
  return bytes.subarray(0, writeVarint(bytes, 0, value));
}

/** Returns the elements of a block, without its length. */
function withoutLength(block: Uint8Array): Uint8Array {
  let at = 0;
  while (block[at] >= 0x80) at++;
  return block.subarray(at + 1);
}

function noMemory({ limitBytes }: MemoryBudget): AlmanacError {
  const text = `response is larger than the memory for responses, ${limitBytes} bytes: request less, or streamed chunks`;
  return new AlmanacError('invalid_arguments', text);
}

function tooLarge(bytesMax: number): AlmanacError {
  const text = `response is larger than http.max_result_bytes, ${bytesMax} bytes: request less`;
  return new AlmanacError('invalid_arguments', text);
}

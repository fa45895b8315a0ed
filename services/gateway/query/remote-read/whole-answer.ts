import { compress } from 'snappy';

import { writeVarint } from '#shared/bytes/varint';
import type { Call } from '#shared/contracts/call';
import type { PromReadPart } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MemoryBudget } from '#shared/limits/memory-budget';

/** How long an answer waits for others to be done with; not so long if others may wait for it. */
const MEMORY_WAIT_MS = 10_000;
const HOLDING_WAIT_MS = 1000;
const QUERY_RESULT = 0x0a;
const VARINT_BYTES_MAX = 5;
/** Well within what the head of a block can say. */
const BLOCK_BYTES_MAX = 2 ** 31;

export interface WholeAnswerLimits {
  /** Before it is compressed. */
  readonly bytesMax: number;
  readonly budget: AnswerBudget;
}

/** Memory for answers: a part of what requests have, which they cannot fill for those. */
export interface AnswerBudget {
  readonly answers: MemoryBudget;
  /** Of all requests; answers are charged there too. */
  readonly requests: MemoryBudget;
}

/** A block of snappy in parts, with what it holds of the budget until `release`. */
export interface WholeAnswer {
  readonly parts: readonly Uint8Array[];
  release(): void;
}

/**
 * A ReadResponse as one block of snappy. Its length stands in front of it, and that of each result in front of that, so
 * it must be whole before its first byte is sent; but it is compressed piece by piece, so that it is never in memory as
 * it is: the elements of a block never look back beyond their own 64 KiB, so blocks may be joined behind one length.
 *
 * @throws `invalid_arguments` if it is too large, `region_busy` if there is no memory for it.
 */
export async function wholeAnswer(
  parts: AsyncIterable<PromReadPart>,
  queryCount: number,
  { bytesMax, budget }: WholeAnswerLimits,
  call: Call,
): Promise<WholeAnswer> {
  const results = Array.from({ length: queryCount }, () => new Result());
  let heldBytes = 0;
  let plainBytes = 0;
  const release = (): void => {
    budget.answers.release(heldBytes);
    budget.requests.release(heldBytes);
    heldBytes = 0;
  };
  try {
    for await (const { query, data } of parts) {
      plainBytes += data.length;
      if (plainBytes > Math.min(bytesMax, BLOCK_BYTES_MAX)) throw tooLarge(bytesMax);
      const elements = withoutLength(await compress(Buffer.from(data.buffer, data.byteOffset, data.length)));
      // It would wait for itself.
      if (heldBytes > 0 && heldBytes + elements.length > budget.answers.limitBytes) throw noMemory(budget.answers);
      await budget.answers.admit(elements.length, call.signal, heldBytes === 0 ? MEMORY_WAIT_MS : HOLDING_WAIT_MS);
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

/** The answer to one query. */
class Result {
  readonly #elements: Uint8Array[] = [];
  #bytes = 0;

  add(elements: Uint8Array, plainBytes: number): void {
    this.#elements.push(elements);
    this.#bytes += plainBytes;
  }

  /** Bytes of the result with what stands in front of it. */
  get wireBytes(): number {
    return this.#head.length + this.#bytes;
  }

  elements(): Uint8Array[] {
    const head = this.#head;
    // A literal of this length.
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

/** The elements of a block: what is behind its length. */
function withoutLength(block: Uint8Array): Uint8Array {
  let at = 0;
  while (block[at] >= 0x80) at++;
  return block.subarray(at + 1);
}

function noMemory({ limitBytes }: MemoryBudget): AlmanacError {
  const text = `answer is larger than the memory for answers, ${limitBytes} bytes: ask for less, or for chunks`;
  return new AlmanacError('invalid_arguments', text);
}

function tooLarge(bytesMax: number): AlmanacError {
  const text = `answer is larger than http.max_result_bytes, ${bytesMax} bytes: ask for less`;
  return new AlmanacError('invalid_arguments', text);
}

import { randomBytes } from 'node:crypto';

import { expect } from 'chai';
import { uncompressSync } from 'snappy';

import { snappyResponse, type SnappyResponse } from '#services/gateway/query/remote-read/snappy-response';
import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { PromReadPart } from '#shared/contracts/gen/querier';
import { MemoryBudget } from '#shared/limits/memory-budget';
import { failure } from '#test/support/failure';

const MIB = 2 ** 20;

async function* stream(parts: readonly PromReadPart[]): AsyncIterable<PromReadPart> {
  for (const part of parts) yield await Promise.resolve(part);
}

/** The fields of a message of which all are bytes with a tag of one byte. */
function fieldsOf(message: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  for (let at = 0; at < message.length;) {
    expect(message[at++]).to.equal(0x0a);
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++];
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    fields.push(message.subarray(at, at + length));
    at += length;
  }
  return fields;
}

describe('snappy responses of remote read', () => {
  const requests = new MemoryBudget({ name: 'all', limitBytes: 8 * MIB, clock: systemClock });
  const replies = new MemoryBudget({ name: 'test', limitBytes: 4 * MIB, clock: systemClock });
  const budget = { replies, requests };
  const make = (parts: readonly PromReadPart[], queries: number, bytesMax = 64 * MIB): Promise<SnappyResponse> =>
    snappyResponse(stream(parts), queries, { bytesMax, budget }, ownCall('test'));

  afterEach(() => expect([replies.usedBytes, requests.usedBytes]).to.deep.equal([0, 0]));

  it('are one block, a result for each query', async () => {
    const data = [Buffer.alloc(3 * MIB, 'x'), randomBytes(100_000), Buffer.from('abcabcabcabc'), randomBytes(1)];
    const parts = data.map((bytes, i) => ({ query: i === 3 ? 4 : 1, data: bytes }));
    const answer = await make(parts, 6);
    expect(replies.usedBytes).to.equal(requests.usedBytes).and.to.be.greaterThan(100_000).and.below(MIB);
    const results = fieldsOf(uncompressSync(Buffer.concat(answer.parts)) as Buffer);
    answer.release();
    const expected = [[], data.slice(0, 3), [], [], [data[3]], []].map((all) => Buffer.concat(all));
    expect(results.map((result, i) => result.equals(expected[i]))).to.deep.equal(expected.map(() => true));
    const none = await make([], 0);
    expect(uncompressSync(Buffer.concat(none.parts))).to.deep.equal(Buffer.alloc(0));
    none.release();
  });

  it('are rejected when they are too large, and release their memory', async () => {
    const parts = Array.from({ length: 5 }, () => ({ query: 0, data: Buffer.alloc(MIB) }));
    const error = await failure(make(parts, 1, 4 * MIB));
    expect([error.code, error.message]).to.deep.equal([
      ...['invalid_arguments', `response is larger than http.max_result_bytes, ${4 * MIB} bytes: request less`],
    ]);
  });

  it('wait for memory no longer than their call', async () => {
    replies.charge(4 * MIB);
    const abort = new AbortController();
    const parts = stream([{ query: 0, data: randomBytes(MIB) }]);
    const waiting = failure(snappyResponse(parts, 1, { bytesMax: MIB, budget }, ownCall('test', abort.signal)));
    abort.abort();
    expect((await waiting).code).to.equal('cancelled');
    replies.release(4 * MIB);
  });

  it('leave memory to other requests, and do not wait for themselves', async () => {
    const whole = Array.from({ length: 3 }, () => ({ query: 0, data: randomBytes(MIB) }));
    const answer = await make(whole, 1);
    expect(requests.usedBytes).to.be.greaterThan(3 * MIB);
    await requests.admit(4 * MIB, undefined, 0);
    requests.release(4 * MIB);
    answer.release();
    const parts = Array.from({ length: 5 }, () => ({ query: 0, data: randomBytes(MIB) }));
    const error = await failure(make(parts, 1));
    expect([error.code, error.message]).to.deep.equal([
      'invalid_arguments',
      `response is larger than the memory for responses, ${4 * MIB} bytes: request less, or streamed chunks`,
    ]);
  });
});

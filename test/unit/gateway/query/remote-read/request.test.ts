import { expect } from 'chai';

import { readRequest, type ReadRequest } from '#services/gateway/query/remote-read/request';
import { AlmanacError } from '#shared/errors/almanac-error';
import { CHUNKS, readBody, SAMPLES } from '#test/support/remote-read-messages';
import { field } from '#test/support/remote-write-rig';

function reasonOf(bytes: Buffer): string {
  try {
    readRequest(bytes);
    return '';
  } catch (error) {
    expect(error).to.be.instanceOf(AlmanacError);
    expect((error as AlmanacError).httpStatus).to.equal(400);
    return (error as AlmanacError).message;
  }
}

function formatOf(accepted: readonly number[]): ReadRequest['format'] {
  return readRequest(readBody([], accepted)).format;
}

describe('requests of remote read', () => {
  it('have queries with matchers; hints and unknown fields are skipped', () => {
    const body = readBody([
      { from: -5, to: 1_700_000_001_000, matchers: ['__name__=m1', 'a!=', 'b=~x.*', 'ü!~é|'] },
      { from: 0, to: 0, matchers: [] },
    ]);
    const matchers = [
      { op: '=', name: '__name__', value: 'm1' },
      { op: '!=', name: 'a', value: '' },
      { op: '=~', name: 'b', value: 'x.*' },
      { op: '!~', name: 'ü', value: 'é|' },
    ];
    const expected = [
      { startMs: -5, endMs: 1_700_000_001_000, matchers },
      { startMs: 0, endMs: 0, matchers: [] },
    ];
    expect(readRequest(body)).to.deep.equal({ queries: expected, format: 'samples' });
    const unknown = Buffer.concat([field(0x7a, Buffer.from('x')), body, Buffer.from([0x18, 5])]);
    expect(readRequest(unknown).queries).to.deep.equal(expected);
    const example = Buffer.from('0a19080010e8d795ffbc311a0e12085f5f6e616d655f5f1a026d3112020100', 'hex');
    expect(readRequest(example)).to.deep.equal({
      queries: [{ startMs: 0, endMs: 1_700_000_001_000, matchers: [matchers[0]] }],
      format: 'chunks',
    });
  });

  it('get the first supported response type', () => {
    expect(formatOf([])).to.equal('samples');
    expect(formatOf([SAMPLES, CHUNKS])).to.equal('samples');
    expect(formatOf([CHUNKS, SAMPLES])).to.equal('chunks');
    expect(formatOf([7, CHUNKS])).to.equal('chunks');
    expect(readRequest(Buffer.from([0x10, 1, 0x10, 0])).format).to.equal('chunks');
    expect(reasonOf(readBody([], [2, 9]))).to.equal(
      'server does not support any of the requested response types: 2, 9; supported: SAMPLES, STREAMED_XOR_CHUNKS',
    );
  });

  it('are refused when malformed, whatever is cut or changed', () => {
    const body = readBody([{ from: 1, to: 2, matchers: ['__name__=m', 'a=~b'] }], [CHUNKS, SAMPLES]);
    for (let length = 0; length < body.length; length++) {
      const reason = reasonOf(body.subarray(0, length));
      if (reason !== '') expect(reason, String(length)).to.equal('unexpected EOF');
    }
    for (let at = 0; at < body.length; at++) {
      for (const bits of [0x01, 0x08, 0x80, 0xff]) {
        const damaged = Buffer.from(body);
        damaged[at] ^= bits;
        // Refused in words or read as something else.
        reasonOf(damaged);
      }
    }
    const op = field(0x0a, field(0x1a, Buffer.from([0x08, 4])));
    expect(reasonOf(op)).to.equal('unknown matcher type 4');
    expect(reasonOf(Buffer.from('ffffffffffffffffffff01', 'hex'))).to.equal('unexpected EOF');
  });

  it('are rejected above a limit', () => {
    expect(reasonOf(Buffer.concat(Array.from({ length: 1001 }, () => Buffer.from([0x0a, 0]))))).to.equal(
      'request has more than 1000 queries',
    );
    const matchers = Buffer.concat(Array.from({ length: 10_001 }, () => Buffer.from([0x1a, 0])));
    expect(reasonOf(field(0x0a, matchers))).to.equal('request has more than 10000 matchers');
    const pattern = 'a'.repeat(200_000);
    const query = { from: 0, to: 1, matchers: [`a=~${pattern}`] };
    expect(reasonOf(readBody([query]))).to.equal('');
    expect(reasonOf(readBody([query, query]))).to.equal(
      'request has more than 262144 characters in regular expressions',
    );
    expect(reasonOf(readBody([{ ...query, matchers: [`a=${pattern}${pattern}`] }]))).to.equal('');
  });
});

import { expect } from 'chai';
import fc from 'fast-check';

import { TraceReader } from '#services/gateway/dashboard/app/screens/traces/trace-stream';

const readIn = (text: string, size: number) => {
  const reader = new TraceReader();
  for (let i = 0; i < text.length; i += size) reader.take(text.slice(i, i + size));
  return reader.end();
};

describe('the reader of a trace', () => {
  it('reads what JSON.parse reads, from chunks of any size', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.constantFrom('}', ']', '\\', '"', ',', '\\"}'),
      fc.jsonValue(),
    );
    const span = fc.record({ spanID: fc.string(), tags: fc.array(fc.record({ key: fc.string(), value })) });
    const trace = fc.record({
      traceID: fc.string(),
      spans: fc.array(span, { maxLength: 5 }),
      processes: fc.dictionary(fc.string(), fc.record({ serviceName: fc.string(), tags: fc.array(span) })),
      warnings: fc.constant(null),
    });
    fc.assert(
      fc.property(trace, fc.integer({ min: 1, max: 40 }), (one, size) => {
        const text = JSON.stringify({ data: [one], total: 1, errors: [] });
        expect(readIn(text, size)).to.deep.equal((JSON.parse(text) as { data: unknown[] }).data[0]);
      }),
    );
  });

  it('finds no trace in an empty reply, and fails when one is cut off', () => {
    expect(readIn('{"data":[],"total":0}', 4)).to.equal(undefined);
    expect(readIn('{"data":null}', 4)).to.equal(undefined);
    expect(() => readIn('{"data":[{"traceID":"a","spans":[{"spanID":"b"', 7)).to.throw(SyntaxError);
  });
});

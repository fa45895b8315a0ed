import { expect } from 'chai';
import fc from 'fast-check';

import { ItemSnapshot, readItemText, valueText } from '#services/gateway/pipelines/failed-item';
import { Item, KeySlots } from '#services/gateway/pipelines/item';
import { Timestamp } from '#services/gateway/pipelines/values/timestamp';
import { INT64_MAX, INT64_MIN, type ObjectValue, type PipelineValue } from '#services/gateway/pipelines/values/value';

const RUNS = 500;

const scalars: fc.Arbitrary<PipelineValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc.double({ noNaN: true }).filter((value) => !Object.is(value, -0)),
  fc.string(),
);
const finite = scalars.filter((value) => typeof value !== 'number' || Number.isFinite(value));
const keys = fc.string({ minLength: 1 });
const trees: fc.Arbitrary<PipelineValue> = fc.letrec<{ tree: PipelineValue }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    finite,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie('tree')), { maxLength: 4 }).map((members) => new Map(members)),
  ),
})).tree;
const times = fc.bigInt({ min: INT64_MIN, max: INT64_MAX }).map((ns) => Timestamp.ofNs(ns));
const objects: fc.Arbitrary<ObjectValue> = fc
  .array(fc.tuple(keys, fc.oneof(scalars, trees, times)), { maxLength: 8 })
  .map((members) => new Map(members));

/** The same content with members in the order of their keys. */
function sorted(value: PipelineValue): unknown {
  if (value instanceof Timestamp) return ['time', value.seconds, value.nanos];
  if (value instanceof Map) {
    return [...value].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, it]) => [key, sorted(it)]);
  }
  return Array.isArray(value) ? (value as PipelineValue[]).map(sorted) : value;
}

const asIs = (value: PipelineValue): PipelineValue => value;

describe('text of an item that failed', () => {
  it('is read as the item was, with times, floats and infinities', () => {
    fc.assert(
      fc.property(objects, (object) => {
        const item = new Item(new KeySlots([]));
        for (const [key, value] of object) item.set(item.slots.slotOf(key), value);
        const snapshot = new ItemSnapshot();
        snapshot.take(item);
        // What the processors change later is not in the text.
        for (const slot of item.present()) item.set(slot, 'changed');
        const text = snapshot.text(asIs);
        expect(sorted(readItemText(text))).to.deep.equal(sorted(object));
        expect(text).to.deep.equal(valueText(object, asIs));
      }),
      { numRuns: RUNS },
    );
  });

  it('may be a list or a scalar', () => {
    for (const value of [5n, 2, 'x', null, [1n, new Map([['a', 1.5]])]] as PipelineValue[]) {
      expect(sorted(readItemText(valueText(value, asIs)))).to.deep.equal(sorted(value));
    }
  });

  it('is refused if it is too large', () => {
    const large = new Map([['a', 'x'.repeat(17 * 1024 * 1024)]]);
    expect(() => valueText(large, asIs)).to.throw('too large to be stored');
  });
});

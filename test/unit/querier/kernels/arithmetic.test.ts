import { expect } from 'chai';

import { compute, mayFail } from '#services/querier/kernels/arithmetic';
import { NotForKernels, type Arithmetic, type ArithmeticOperation } from '#services/querier/kernels/query';
import { systemClock, type Clock } from '#shared/clock/clock';
import { HurriedClock } from '#test/support/hurried-clock';

type Value = number | null;
type ResultType = Extract<Arithmetic, { kind: 'operation' }>['type'];

const INT8 = { least: -128, greatest: 127 };
const SAFE = { least: Number.MIN_SAFE_INTEGER, greatest: Number.MAX_SAFE_INTEGER };

/** Computes an operation whose operands are aggregates with the given values of each group. */
async function valuesOf(
  operation: ArithmeticOperation,
  type: ResultType,
  aggregates: readonly (readonly Value[])[],
  digits?: number,
): Promise<Value[]> {
  const operands = aggregates.map((_, index): Arithmetic => ({ kind: 'aggregate', index }));
  return computed({ kind: 'operation', operation, type, operands, digits }, aggregates);
}

async function computed(
  expression: Arithmetic,
  aggregates: readonly (readonly Value[])[],
  clock: Clock = systemClock,
): Promise<Value[]> {
  const cells = aggregates[0].map((_, i) => i);
  const options = { clock, check: () => undefined };
  const { values, valid } = await compute(expression, cells, (index, cell) => aggregates[index][cell], options);
  return [...values].map((value, i) => (valid[i] === 1 ? value : null));
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('arithmetic over aggregates', () => {
  it('is null where an operand is null', async () => {
    const values = await valuesOf('+', 'Float64', [
      [1, null, 3, null],
      [0.5, 2, null, null],
    ]);
    expect(values).to.deep.equal([1.5, null, null, null]);
  });

  it('divides floats by zero', async () => {
    const values = await valuesOf('/', 'Float64', [
      [1, -1, 0, 1, Infinity],
      [0, 0, 0, -0, Infinity],
    ]);
    expect(values).to.deep.equal([Infinity, -Infinity, NaN, -Infinity, NaN]);
  });

  it('rounds halves away from zero', async () => {
    const values = [0.5, -0.5, 2.5, -2.5, 0.49999999999999994, -0.4, 4503599627370497.5, NaN, -Infinity, null];
    expect(await valuesOf('round', 'Float64', [values])).to.deep.equal([
      ...[1, -1, 3, -3, 0, -0, 4503599627370498, NaN, -Infinity, null],
    ]);
  });

  it('rounds to digits by a power of ten', async () => {
    const values = [1.005, 2.675, 1234.5678, 1e308, NaN, Infinity, null];
    expect(await valuesOf('round', 'Float64', [values], 2)).to.deep.equal([
      ...[1, 2.68, 1234.57, 1e308, NaN, Infinity, null],
    ]);
  });

  it('rounds to negative digits, and what is not finite to 0', async () => {
    const values = [1234.5678, -15, 4, -4, NaN, Infinity, null];
    expect(await valuesOf('round', 'Float64', [values], -1)).to.deep.equal([1230, -20, 0, -0, 0, 0, null]);
  });

  it('rounds operands and results of 32 bits to floats', async () => {
    const values = await valuesOf('+', 'Float32', [
      [16_777_217, 0.1, 3e38],
      [1, 0.2, 3e38],
    ]);
    expect(values).to.deep.equal([16_777_216, Math.fround(Math.fround(0.1) + Math.fround(0.2)), Infinity]);
  });

  it('replaces nulls by another value', async () => {
    const coalesced = await valuesOf('coalesce', 'Float64', [
      [1, null, null],
      [2, -0, null],
    ]);
    expect(coalesced).to.deep.equal([1, -0, null]);
  });

  it('drops the fraction of a quotient of integers, and has no -0', async () => {
    const values = await valuesOf('divideIntegers', SAFE, [
      [7, -7, -1, 0, null, Number.MAX_SAFE_INTEGER],
      [2, 2, 2, -5, 0, 2],
    ]);
    expect(values).to.deep.equal([3, -3, 0, 0, null, 4_503_599_627_370_495]);
    expect(await valuesOf('negate', SAFE, [[0]])).to.deep.equal([0]);
    expect(await valuesOf('*', SAFE, [[0], [-3]])).to.deep.equal([0]);
  });

  it('leaves errors of integers to the engine', async () => {
    const zero = await failure(valuesOf('divideIntegers', SAFE, [[1], [0]]));
    expect(zero).to.be.instanceOf(NotForKernels).with.property('message', 'an integer is divided by zero');
    for (const failed of [
      valuesOf('+', INT8, [[127], [1]]),
      valuesOf('negate', INT8, [[-128]]),
      valuesOf('*', SAFE, [[2 ** 30], [2 ** 30]]),
    ]) {
      const error = await failure(failed);
      expect(error)
        .to.be.instanceOf(NotForKernels)
        .with.property('message')
        .that.includes('exceeds their type or 2^53');
    }
    expect(
      await valuesOf('+', INT8, [
        [127, null],
        [0, 127],
      ]),
    ).to.deep.equal([127, null]);
  });

  it('computes nested expressions of many groups in slices', async () => {
    const groups = Array.from({ length: 10_001 }, (_, i) => (i % 7 === 0 ? null : i));
    const half: Arithmetic = {
      ...{ kind: 'operation', operation: '/', type: 'Float64' },
      operands: [
        { kind: 'aggregate', index: 0 },
        { kind: 'number', value: 2 },
      ],
    };
    const expression: Arithmetic = { kind: 'operation', operation: '-', type: 'Float64', operands: [half, half] };
    const more: Arithmetic = { ...expression, operands: [expression, half] };
    const clock = new HurriedClock();
    expect(await computed(more, [groups], clock)).to.deep.equal(
      groups.map((value) => (value === null ? null : -value / 2)),
    );
    expect(clock.yields).to.be.greaterThan(0);
  });

  it('may only fail on integers', () => {
    const leaf: Arithmetic = { kind: 'aggregate', index: 0 };
    const integers: Arithmetic = { kind: 'operation', operation: 'negate', type: SAFE, operands: [leaf] };
    expect(mayFail({ kind: 'operation', operation: '/', type: 'Float64', operands: [leaf, leaf] })).to.equal(false);
    expect(mayFail({ kind: 'operation', operation: '/', type: 'Float64', operands: [leaf, integers] })).to.equal(true);
  });
});

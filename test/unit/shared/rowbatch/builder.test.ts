import { expect } from 'chai';
import fc from 'fast-check';

import { hasValue, type Column } from '#shared/rowbatch/column';
import { dataType } from '#shared/schema/data-type';
import { BatchSet, SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { FieldBuilder } from '#shared/rowbatch/field-builder';
import { checkBatch } from '#shared/rowbatch/row-batch';
import { cellOf } from '../../../support/memory-ingester.js';

function finished(field: FieldBuilder, rowCount: number): Column {
  return field.finish(1, rowCount) ?? expect.fail('the column is empty');
}

/** Values by row, undefined where null. */
function cells(column: Column, rowCount: number): unknown[] {
  return Array.from({ length: rowCount }, (_, row) => (hasValue(column, row) ? cellOf(column, row) : undefined));
}

describe('FieldBuilder', () => {
  function integers(...values: (number | bigint)[]): Column {
    const field = new FieldBuilder('f', 'Int64');
    for (const [row, value] of values.entries()) field.setBigInt(row, BigInt(value));
    return finished(field, values.length);
  }

  function kindOf(column: Column): string {
    return column.kind === 'fixed' ? column.values.constructor.name : 'bytes';
  }

  it('stores integers in the narrowest array that holds them', () => {
    expect(kindOf(integers(-128, 127))).to.equal('Int8Array');
    expect(kindOf(integers(128))).to.equal('Int16Array');
    expect(kindOf(integers(-129))).to.equal('Int16Array');
    expect(kindOf(integers(-32_768, 32_767))).to.equal('Int16Array');
    expect(kindOf(integers(32_768))).to.equal('Int32Array');
    expect(kindOf(integers(-2_147_483_648, 2_147_483_647))).to.equal('Int32Array');
    expect(kindOf(integers(2_147_483_648))).to.equal('BigInt64Array');
    expect(kindOf(integers(-2_147_483_649))).to.equal('BigInt64Array');
  });

  it('keeps every bit of wide integers', () => {
    const wide = [
      9_223_372_036_854_775_807n,
      -9_223_372_036_854_775_808n,
      9_007_199_254_740_993n,
      -9_007_199_254_740_993n,
      4_294_967_296n,
      -1n,
      0n,
    ];
    expect(cells(integers(...wide), wide.length)).to.deep.equal(wide);
    const field = new FieldBuilder('f', 'UInt64');
    field.setBigInt(0, 18_446_744_073_709_551_615n);
    expect(cells(finished(field, 1), 1)).to.deep.equal([-1n]);
  });

  it('keeps floats to the bit, and booleans', () => {
    const field = new FieldBuilder('f', 'Float64');
    for (const [row, value] of [-0, Number.NaN, Infinity, 5e-324].entries()) field.setNumber(row, value);
    expect(cells(finished(field, 4), 4)).to.deep.equal([-0, Number.NaN, Infinity, 5e-324]);
    const single = new FieldBuilder('f', 'Float32');
    single.setNumber(0, 0.1);
    expect(cells(finished(single, 1), 1)).to.deep.equal([Math.fround(0.1)]);
    const flag = new FieldBuilder('f', 'Boolean');
    flag.setNumber(0, 1);
    flag.setNumber(1, 0);
    expect(cells(finished(flag, 2), 2)).to.deep.equal([1, 0]);
  });

  it('has no column without values, and no validity without nulls', () => {
    const field = new FieldBuilder('f', 'Float64');
    expect(field.finish(1, 5)).to.equal(undefined);
    field.setNumber(0, 1);
    expect(finished(field, 1).validity).to.equal(undefined);
    expect(finished(field, 3)).to.deep.include({ nullCount: 2, validity: new Uint8Array([1]) });
  });

  it('starts from scratch after a reset', () => {
    const field = new FieldBuilder('f', 'String');
    field.setBytes(3, Buffer.from('old'), 0, 3);
    field.restart('f', dataType('String'));
    field.setBytes(0, Buffer.from('new'), 0, 3);
    expect(cells(finished(field, 1), 1)).to.deep.equal(['new']);
  });

  // One operation per row: set, set twice, set and undo, or leave null.
  const operation = fc.constantFrom('set', 'twice', 'undo', 'null');
  const operations = fc.array(fc.tuple(operation, fc.integer({ min: -300, max: 300 })), { maxLength: 700 });

  function remembers(type: string, set: (field: FieldBuilder, row: number, value: number) => unknown): void {
    fc.assert(
      fc.property(operations, (list) => {
        const field = new FieldBuilder('f', type);
        const expected = list.map(([kind, value], row) => {
          if (kind === 'null') return undefined;
          if (kind === 'twice') set(field, row, value + 1);
          const kept = set(field, row, value);
          if (kind !== 'undo') return kept;
          field.undo(row);
          return undefined;
        });
        const column = field.finish(1, list.length);
        if (column === undefined) {
          expect(expected.every((value) => value === undefined)).to.equal(true);
          return;
        }
        expect(cells(column, list.length)).to.deep.equal(expected);
        expect(column.nullCount).to.equal(expected.filter((value) => value === undefined).length);
      }),
      { numRuns: 60 },
    );
  }

  it('keeps the last value of each row: numbers', () => {
    remembers('Float64', (field, row, value) => {
      field.setNumber(row, value / 3);
      return value / 3;
    });
  });

  it('keeps the last value of each row: wide integers', () => {
    remembers('Int64', (field, row, value) => {
      // The first makes sure that the array is wide in every run that has a value.
      const wide = BigInt(value) * 9_007_199_254_740_993n + (1n << 62n);
      field.setBigInt(row, wide);
      return wide;
    });
  });

  it('keeps the last value of each row: text', () => {
    remembers('String', (field, row, value) => {
      const text = 'x'.repeat(Math.abs(value) % 50) + String(value);
      field.setBytes(row, Buffer.from(`..${text}.`), 2, 2 + text.length);
      return text;
    });
  });
});

describe('TableBuilder', () => {
  const a = (): SeriesEntry => new SeriesEntry('t', 1n, []);

  it('lists each series once, and writes rows by its position', () => {
    const builder = new TableBuilder('t');
    const [first, second] = [a(), new SeriesEntry('t', 2n, [])];
    for (const [row, series] of [first, second, first].entries()) {
      builder.startRow(series);
      builder.field('v', 'Float64').setNumber(row, row);
      builder.endRowAt(BigInt(-row));
    }
    const batch = builder.finish(() => 5);
    checkBatch(batch);
    expect([...batch.tsids]).to.deep.equal([1n, 2n]);
    expect([...batch.seriesIndex]).to.deep.equal([0, 1, 0]);
    expect([...batch.times]).to.deep.equal([0n, -1n, -2n]);
    expect(batch.columns.map((column) => column.columnId)).to.deep.equal([5]);
  });

  it('appends arrays of rows as it would append each, whatever came before', () => {
    const entries = Array.from({ length: 50 }, (_, i) => new SeriesEntry('t', BigInt(i + 1), []));
    const numbers = Uint32Array.from({ length: 300 }, (_, i) => (i * 7) % 41);
    const times = BigInt64Array.from(numbers, (number) => BigInt(number) - 20n);
    const nan = new Float64Array(new BigUint64Array([0x7ff0000000000abcn]).buffer)[0];
    const values = Float64Array.from(numbers, (number) => (number === 3 ? nan : number / 7));
    const start = (builder: TableBuilder): void => {
      builder.startRow(entries[30]);
      builder.endRowAt(5n);
    };
    const one = new TableBuilder('t');
    start(one);
    for (const [i, number] of numbers.entries()) {
      one.startRow(entries[number]);
      const words = new Int32Array(values.buffer, 8 * i, 2);
      one.field('v', 'Float64').setDoubleWords(i + 1, words[0], words[1]);
      one.endRowAt(times[i]);
    }
    const expected = structuredClone(one.finish(() => 1));
    const all = new TableBuilder('t');
    start(all);
    all.field('v', 'Float64').setDoubles(1, values);
    all.appendRows(entries, numbers, times);
    const batch = all.finish(() => 1);
    checkBatch(batch);
    expect(structuredClone(batch)).to.deep.equal(expected);
    const bits = (of: typeof batch): BigUint64Array => {
      const [{ kind, ...column }] = of.columns;
      if (kind !== 'fixed' || !('values' in column)) throw new Error('a column of numbers expected');
      return new BigUint64Array(column.values.buffer, column.values.byteOffset, of.rowCount);
    };
    expect(bits(batch)).to.deep.equal(bits(expected));
  });

  it('takes times as two words', () => {
    const builder = new TableBuilder('t');
    builder.startRow(a());
    builder.endRow(-1, -2);
    builder.startRow(a());
    builder.endRow(0x80000000, 0x7fffffff);
    expect([...builder.finish(() => 1).times]).to.deep.equal([-4_294_967_297n, 0x7fffffff80000000n]);
  });

  it('leaves no trace of an undone row', () => {
    const builder = new TableBuilder('t');
    const [kept, undone] = [a(), new SeriesEntry('t', 2n, [])];
    builder.startRow(kept);
    builder.field('v', 'Float64').setNumber(0, 1);
    builder.endRowAt(1n);
    builder.startRow(undone);
    builder.field('v', 'Float64').setNumber(1, 2);
    builder.field('bad', 'Int64').setNumber(1, 3);
    builder.undoRow();
    // The name was only used by the row that is gone: the next one decides its type.
    builder.startRow(undone);
    const text = builder.field('bad', 'String');
    text.setBytes(1, Buffer.from('x'), 0, 1);
    builder.endRowAt(2n);
    const batch = builder.finish((name) => (name === 'v' ? 1 : 2));
    expect(batch.columns.map((column) => cells(column, 2))).to.deep.equal([
      [1, undefined],
      [undefined, 'x'],
    ]);
    expect([...batch.tsids]).to.deep.equal([1n, 2n]);
  });

  it('keeps the first type of a field that has a value', () => {
    const builder = new TableBuilder('t');
    builder.startRow(a());
    builder.field('v', 'Int64').setNumber(0, 1);
    builder.endRowAt(1n);
    expect(builder.field('v', 'Float64').type.name).to.equal('Int64');
  });

  it('grows, and can be finished again', () => {
    const builder = new TableBuilder('t');
    const series = a();
    for (let row = 0; row < 10_000; row++) {
      builder.startRow(series);
      if (row % 7 === 0) builder.field('v', 'Int64').setNumber(row, row);
      builder.endRowAt(BigInt(row));
    }
    const batch = builder.finish(() => 1);
    checkBatch(batch);
    expect(batch.times[9_999]).to.equal(9_999n);
    expect(cellOf(batch.columns[0], 9_996)).to.equal(9_996);
    expect(builder.finish(() => 1)).to.deep.equal(batch);
  });

  it('reports what is common to all its series', () => {
    const [owner, other] = [{}, {}];
    const series = (knownBy: object | undefined, columnsIn: number): SeriesEntry =>
      Object.assign(a(), { knownBy, columnsIn });
    const told = (...all: SeriesEntry[]): unknown => {
      const builder = new TableBuilder('t');
      for (const [row, it] of all.entries()) {
        builder.startRow(it);
        builder.endRowAt(BigInt(row));
      }
      return [builder.knownBy, builder.columnsIn];
    };
    expect(told()).to.deep.equal([undefined, 0]);
    expect(told(series(owner, 3), series(owner, 3))).to.deep.equal([owner, 3]);
    expect(told(series(owner, 3), series(other, 3), series(owner, 4))).to.deep.equal([undefined, 0]);
    expect(told(series(undefined, 0), series(owner, 3))).to.deep.equal([undefined, 0]);
    expect(told(series(owner, 3), series(undefined, 0), series(owner, 3))).to.deep.equal([undefined, 0]);
  });

  it('counts rows over all tables of a request', () => {
    const batches = new BatchSet();
    for (const name of ['x', 'y', 'x']) {
      batches.table(name).startRow(new SeriesEntry(name, 1n, []));
      batches.table(name).endRowAt(1n);
    }
    expect([batches.tables.size, batches.rowCount]).to.deep.equal([2, 3]);
  });
});

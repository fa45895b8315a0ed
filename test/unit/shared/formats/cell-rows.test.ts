import { expect } from 'chai';

import type { Cell } from '#shared/duckdb/chunk-reader';
import type { ColumnCells, LongCells, NumberCells } from '#shared/duckdb/column-cells';
import {
  bareText,
  encodeCellRows,
  encodedBy,
  float64Text,
  FLOAT_WRITER,
  INTEGER_WRITER,
  type CellWriter,
  type RowShape,
} from '#shared/formats/cell-rows';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

const LINES: RowShape = { between: '', open: '', close: '\n', nullText: 'null' };
const TEXT_WRITER = encodedBy(bareText);

function linesOf(cells: readonly ColumnCells[], rowCount: number, writers: readonly CellWriter[]): string[] {
  return Buffer.from(encodeCellRows(cells, rowCount, writers, LINES))
    .toString()
    .split('\n')
    .slice(0, -1);
}

function numbersOf(values: readonly number[]): NumberCells {
  return { values: Float64Array.from(values), present: new Uint8Array(values.length).fill(1) };
}

function longsOf(values: readonly bigint[], present?: Uint8Array): LongCells {
  return { words: new Int32Array(BigInt64Array.from(values).buffer), present };
}

/** Compares texts without a list of all that differ. */
function expectTexts(found: readonly string[], expected: readonly string[]): void {
  expect(found.length).to.equal(expected.length);
  for (const [i, text] of found.entries()) if (text !== expected[i]) expect.fail(`${text} instead of ${expected[i]}`);
}

describe('encodeCellRows', () => {
  it('writes every 64-bit integer as BigInt does', () => {
    const random = new SeededRandom(1);
    const values: bigint[] = [0n, 9n, 10n, 999_999_999n, 1_000_000_000n, 1_000_000_001n, 2n ** 31n, 2n ** 53n];
    for (let bits = 1n; bits <= 63n; bits++) {
      for (const near of [-2n, -1n, 0n, 1n]) values.push(2n ** bits + near, 10n ** (bits % 19n) * bits + near);
      for (let i = 0; i < 200; i++) {
        values.push(BigInt(Math.floor(random.fraction() * 2 ** 53)) >> (53n - (bits % 53n)));
        values.push(BigInt.asUintN(63, BigInt(Math.floor(random.fraction() * 2 ** 53)) * bits * 977n));
      }
    }
    for (let k = 1n; k < 9_000_000_000n; k = k * 3n + 1n) values.push(k * 1_000_000_000n, k * 1_000_000_000n - 1n);
    const longs = values.flatMap((value) => [BigInt.asIntN(64, value), BigInt.asIntN(64, -value)]);
    expectTexts(linesOf([longsOf(longs)], longs.length, [INTEGER_WRITER]), longs.map(String));
  });

  it('writes integers as numbers do, exact or not', () => {
    const random = new SeededRandom(2);
    const values = [0, -0, 9, 10, 99, 100, 999_999_999, 1e9, 1e9 + 1, 1e15, 2 ** 31, 2 ** 53, 2 ** 60, 1e21, 1e22];
    for (let digits = 1; digits <= 16; digits++) values.push(10 ** digits - 1, 10 ** digits, 10 ** digits + 1);
    for (let i = 0; i < 20_000; i++) values.push(Math.floor(random.fraction() * 10 ** (1 + (i % 15))));
    const all = values.flatMap((value) => [value, -value]);
    expectTexts(linesOf([numbersOf(all)], all.length, [INTEGER_WRITER]), all.map(bareText));
  });

  it('writes the shortest text of doubles', () => {
    const random = new SeededRandom(4);
    const below = (count: number): number => Math.floor(random.fraction() * count);
    const bits = new BigUint64Array(1);
    const double = new Float64Array(bits.buffer);
    const draws: readonly (() => number)[] = [
      () => random.fraction() * 100,
      () => below(36_000) / 360,
      () => below(1e6) / 7,
      () => below(1e6) / 10 ** below(9),
      () => below(1e6),
      () => random.fraction() * 10 ** (below(19) - 3),
      // Next to powers of ten and of two, and in the middle between decimal numbers.
      () => 10 ** (below(19) - 3) * (1 + (below(2) - 0.5) * 2 ** -(29 + below(24))),
      () => 2 ** (below(60) - 10) * (1 + 2 ** -52 * below(4)),
      () => below(2 ** 40) + below(2 ** 12) / 2 ** 12,
      () => below(2 ** 46) + below(2 ** 6) / 2 ** 6,
      () => {
        bits[0] = (BigInt(1010 + below(70)) << 52n) | BigInt(below(2 ** 52));
        return double[0];
      },
      () => {
        bits[0] = (BigInt(below(2048)) << 52n) | BigInt(below(2 ** 52));
        return double[0];
      },
    ];
    const values = [NaN, Infinity, -Infinity, 0, -0, 1e-4, 1e15 + 0.5, 5e-324, 0.001, 0.0015, 1.001, 1e21, 2 ** 53];
    for (let i = 0; i < 400_000; i++) values.push(draws[i % draws.length]() * (i % 5 === 0 ? -1 : 1));
    let others = 0;
    const counted: CellWriter = {
      kind: 'float',
      write(out, cell) {
        others++;
        FLOAT_WRITER.write(out, cell);
      },
    };
    expectTexts(linesOf([numbersOf(values)], values.length, [counted]), values.map(float64Text));
    expect(others, 'numbers that WebAssembly does not write').to.be.lessThan(80_000);
  });

  it('writes rows of columns of all kinds, with nulls, in any order', () => {
    const random = new SeededRandom(5);
    for (const rowCount of [1, 2, 37, 5000]) {
      const rows = Array.from({ length: rowCount }, (_, row) => row);
      const isNull = rows.map(() => random.fraction() < 0.2);
      const present = Uint8Array.from(isNull, (it) => (it ? 0 : 1));
      const doubles = rows.map((row) => (isNull[row] ? null : row / 7));
      const longs = rows.map((row) => BigInt(row) * 10n ** 14n - 5n);
      const kinds: readonly { column: ColumnCells; writer: CellWriter; text: (row: number) => string }[] = [
        {
          column: { values: Float64Array.from(doubles, (value) => value ?? 0), present },
          writer: FLOAT_WRITER,
          text: (row) => (doubles[row] === null ? 'null' : float64Text(doubles[row])),
        },
        {
          column: doubles,
          writer: FLOAT_WRITER,
          text: (row) => (doubles[row] === null ? 'null' : float64Text(doubles[row])),
        },
        { column: numbersOf(rows), writer: INTEGER_WRITER, text: String },
        { column: longsOf(longs), writer: INTEGER_WRITER, text: (row) => longs[row].toString() },
        {
          column: longsOf(
            longs.map((value, row) => (isNull[row] ? 0n : value)),
            present,
          ),
          writer: INTEGER_WRITER,
          text: (row) => (isNull[row] ? 'null' : longs[row].toString()),
        },
        { column: longs, writer: INTEGER_WRITER, text: (row) => longs[row].toString() },
        {
          column: rows.map((row): Cell => (row % 2 === 0 ? BigInt(row) : row)),
          writer: INTEGER_WRITER,
          text: String,
        },
        { column: rows.map((row): Cell => `t${row}`), writer: TEXT_WRITER, text: (row) => `t${row}` },
        {
          column: { numbers: Uint32Array.from(rows, (row) => row % 3), cells: ['a'.repeat(200), null, 'ü'] },
          writer: TEXT_WRITER,
          text: (row) => ['a'.repeat(200), 'null', 'ü'][row % 3],
        },
      ];
      for (let round = 0; round < 30; round++) {
        const columns = Array.from({ length: 1 + Math.floor(random.fraction() * 12) }, () => {
          return kinds[Math.floor(random.fraction() * kinds.length)];
        });
        const found = linesOf(
          columns.map(({ column }) => column),
          rowCount,
          columns.map(({ writer }) => writer),
        );
        expectTexts(
          found,
          rows.map((row) => columns.map(({ text }) => text(row)).join(',')),
        );
      }
    }
  });

  it('writes marks between, before and after rows that are not written at once', () => {
    const shapes: readonly RowShape[] = [
      { between: ',', open: '[', close: ']', nullText: 'null' },
      { between: '\r\n', open: '', close: '', nullText: '' },
    ];
    const many = Array.from({ length: 40_000 }, (_, i) => (i % 3 === 0 ? null : i));
    const long = Array.from({ length: 40 }, (_, i) => (i % 5 === 0 ? null : `${i}`.repeat(i % 7 === 0 ? 900_000 : i)));
    const numbers = Uint32Array.from({ length: 2_000 }, (_, i) => i % 2);
    const shared = ['x'.repeat(2_000), ''];
    const cases: readonly { cells: readonly ColumnCells[]; rows: readonly (readonly Cell[])[] }[] = [
      { cells: [many, many], rows: many.map((value) => [value, value]) },
      { cells: [long, numbersOf(long.map((_, i) => i))], rows: long.map((text, i) => [text, i]) },
      { cells: [{ numbers, cells: shared }], rows: Array.from(numbers, (number) => [shared[number]]) },
      { cells: [['']], rows: [['']] },
    ];
    for (const { between, open, close, nullText } of shapes) {
      for (const { cells, rows } of cases) {
        const writers = cells.map((column): CellWriter => {
          return { ...TEXT_WRITER, ...('present' in column || column === many ? INTEGER_WRITER : {}) };
        });
        const found = encodeCellRows(cells, rows.length, writers, { between, open, close, nullText });
        const texts = rows.map((row) => row.map((cell) => (cell === null ? nullText : bareText(cell))).join(','));
        const expected = texts.map((text) => open + text + close).join(between);
        expect(Buffer.from(found).toString() === expected, JSON.stringify({ between, count: rows.length })).to.equal(
          true,
        );
      }
    }
  });

  it('leaves nothing of rows that could not be written', () => {
    const failing = (kind: CellWriter['kind']): CellWriter => ({
      ...(kind === undefined ? {} : { kind }),
      write(out) {
        out.text('half');
        throw new RangeError('too long');
      },
    });
    for (let i = 0; i < 2; i++) {
      expect(() => linesOf([['a', 'b']], 2, [failing(undefined)])).to.throw('too long');
      expect(() => linesOf([['a'], numbersOf([NaN])], 1, [TEXT_WRITER, failing('float')])).to.throw('too long');
      expectTexts(linesOf([['a'], numbersOf([NaN])], 1, [TEXT_WRITER, FLOAT_WRITER]), ['a,null']);
    }
  });

  it('writes more columns than are written at once', () => {
    const columns = Array.from({ length: 10_000 }, (_, i) => numbersOf([i, -i / 4]));
    const writers = columns.map(() => FLOAT_WRITER);
    const expected = [0, 1].map((row) => columns.map(({ values }) => float64Text(values[row])).join(','));
    expectTexts(linesOf(columns, 2, writers), expected);
  });
});

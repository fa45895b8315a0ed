import {
  Decimal,
  Dictionary,
  Field,
  FixedSizeBinary,
  Float16,
  Int32,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  TimestampNanosecond,
  Utf8,
  vectorFromArray,
  type Data,
} from 'apache-arrow';
import { expect } from 'chai';

import { readArrow } from '#services/gateway/dashboard/app/data/arrow';
import { cellText, type SqlResult } from '#services/gateway/dashboard/app/data/sql-result';
import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import { arrowFormat, arrowFormatWith } from '#shared/formats/arrow';

/** Types of the server with values that others round, cut or mistake. */
const SERVED: readonly [ValueType, readonly Cell[], readonly string[]][] = [
  [{ name: 'Int8', kind: 'int' }, [-128, null, 127], ['-128', 'NULL', '127']],
  [{ name: 'Int32', kind: 'int' }, [-2147483648, null, 2147483647], ['-2147483648', 'NULL', '2147483647']],
  [
    { name: 'Int64', kind: 'int' },
    [-9223372036854775808n, null, 9223372036854775807n],
    ['-9223372036854775808', 'NULL', '9223372036854775807'],
  ],
  [{ name: 'UInt64', kind: 'int' }, [0n, null, 18446744073709551615n], ['0', 'NULL', '18446744073709551615']],
  [{ name: 'Float32', kind: 'float32' }, [0.5, null, -0], ['0.5', 'NULL', '-0']],
  [{ name: 'Float64', kind: 'float64' }, [-0, NaN, -Infinity], ['-0', 'NaN', '-Inf']],
  [{ name: 'Float64', kind: 'float64' }, [Infinity, null, 0.1], ['+Inf', 'NULL', '0.1']],
  [{ name: 'Boolean', kind: 'bool' }, [true, null, false], ['true', 'NULL', 'false']],
  [{ name: 'Date', kind: 'int' }, [-1, null, 19_723], ['1969-12-31', 'NULL', '2024-01-01']],
  [{ name: 'TimestampSecond', kind: 'int' }, [-1n, null, 0n], ['1969-12-31 23:59:59', 'NULL', '1970-01-01 00:00:00']],
  [
    { name: 'TimestampMillisecond', kind: 'int' },
    [-1n, null, 1n],
    ['1969-12-31 23:59:59.999', 'NULL', '1970-01-01 00:00:00.001'],
  ],
  [
    { name: 'TimestampNanosecond', kind: 'int' },
    [-1n, null, 1_704_067_200_123_456_789n],
    ['1969-12-31 23:59:59.999999999', 'NULL', '2024-01-01 00:00:00.123456789'],
  ],
  [{ name: 'TimeMicrosecond', kind: 'int' }, [0n, null, 86_399_999_999n], ['0', 'NULL', '86399999999']],
  [{ name: 'Decimal(10, 2)', kind: 'decimal' }, ['-1.10', null, '0.05'], ['-1.10', 'NULL', '0.05']],
  [
    { name: 'Decimal(38, 0)', kind: 'decimal' },
    ['-99999999999999999999999999999999999999', null, '99999999999999999999999999999999999999'],
    ['-99999999999999999999999999999999999999', 'NULL', '99999999999999999999999999999999999999'],
  ],
  [
    { name: 'Decimal(38, 38)', kind: 'decimal' },
    ['-0.00000000000000000000000000000000000001', null, '0.12345678901234567890123456789012345678'],
    ['-0.00000000000000000000000000000000000001', 'NULL', '0.12345678901234567890123456789012345678'],
  ],
  [{ name: 'String', kind: 'text' }, ['', null, 'Zoë 🐦\u0000'], ['', 'NULL', 'Zoë 🐦\u0000']],
  [{ name: 'Json', kind: 'json' }, ['{"a":1}', null, '[]'], ['{"a":1}', 'NULL', '[]']],
  [
    { name: 'List<Int64>', kind: 'list', child: { name: 'Int64', kind: 'int' } },
    [[1n, null], null, []],
    ['[1,null]', 'NULL', '[]'],
  ],
  [
    { name: 'IntervalMonthDayNano', kind: 'interval' },
    [{ months: 1, days: 0, micros: 0n }, null, { months: 0, days: 0, micros: 1n }],
    ['1 mons', 'NULL', '0.000001 secs'],
  ],
  [{ name: 'Binary', kind: 'binary' }, [new Uint8Array(0), null, Uint8Array.of(0, 255)], ['', 'NULL', '00ff']],
  [{ name: 'Null', kind: 'null' }, [null, null, null], ['NULL', 'NULL', 'NULL']],
];

const COLUMNS = SERVED.map(([type], i) => ({ name: i === 0 ? '' : `c${i}`, type }));
/** Columns of each layout, for tests that read a stream thousands of times. */
const FEW = COLUMNS.filter(({ type: { name } }) =>
  ['Int64', 'Boolean', 'Date', 'Decimal(10, 2)', 'String', 'Null'].includes(name),
);
const FEW_TEXTS = FEW.map((column) => SERVED[COLUMNS.indexOf(column)][2]);
const ROW_COUNT = 3;

/** Returns a stream of the server, by message. @param batchCount each has the rows of `SERVED`. */
function served(batchCount: number, format = arrowFormat, columns = COLUMNS): Uint8Array[] {
  const head = format.head(
    columns.map(({ name, type }) => ({ name, type: type.name })),
    0,
  );
  const cells = columns.map((column) => SERVED[COLUMNS.indexOf(column)][1]);
  const rows = format.encodeRows(columns, cells, ROW_COUNT);
  return [head, ...new Array<typeof rows>(batchCount).fill(rows), format.tail(0)] as Uint8Array[];
}

const joined = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

async function* sent(parts: Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) yield await Promise.resolve(part);
}

const read = (...parts: readonly Uint8Array[]): Promise<SqlResult> => readArrow(sent(parts));

function textsOf(result: SqlResult, column: number): string[] {
  return Array.from({ length: result.rowCount }, (_, row) =>
    cellText(result.value(column, row), result.columns[column], 'UTC'),
  );
}

const allTexts = (result: SqlResult): string[][] => result.columns.map((_, column) => textsOf(result, column));

/** Returns the message of the error. */
async function failureOf(...parts: readonly Uint8Array[]): Promise<string> {
  const result = await read(...parts).catch((error: unknown) => error);
  expect(result).to.be.instanceOf(Error);
  return (result as Error).message;
}

/** Returns a stream of apache-arrow with columns that have no metadata. */
function written(columns: Readonly<Record<string, Data>>): Uint8Array {
  const fields = Object.entries(columns).map(([name, data]) => new Field(name, data.type, true));
  const children = Object.values(columns);
  const [{ length }] = children;
  const schema = new Schema(fields);
  const data = makeData({ type: new Struct(fields), length, nullCount: 0, children });
  return tableToIPC(new Table(schema, [new RecordBatch(schema, data)]), 'stream');
}

describe('results of SQL in the dashboard', () => {
  it('have the cells of all types of the server exactly', async () => {
    const result = await read(...served(2));
    expect(result.rowCount).to.equal(2 * ROW_COUNT);
    expect(result.columns.map(({ name, type }) => [name, type])).to.deep.equal(
      COLUMNS.map(({ name, type }) => [name, type.name]),
    );
    for (const [column, [, , texts]] of SERVED.entries()) {
      expect(textsOf(result, column), COLUMNS[column].type.name).to.deep.equal([...texts, ...texts]);
    }
    const kinds = new Map(result.columns.map(({ type, kind }) => [type, kind]));
    expect(Object.fromEntries(kinds)).to.include({ Int64: 'integer', Float64: 'number', 'Decimal(10, 2)': 'number' });
    expect(Object.fromEntries(kinds)).to.include({ Date: 'time', TimestampSecond: 'time', TimeMicrosecond: 'text' });
    expect(Object.fromEntries(kinds)).to.include({ 'List<Int64>': 'json', Json: 'json', String: 'text', Null: 'text' });
    expect(Object.fromEntries(kinds)).to.include({ Boolean: 'boolean', Binary: 'binary' });
  });

  it('have numbers for charts: times in milliseconds, decimals as doubles', async () => {
    const result = await read(...served(1));
    const numbers = (type: string): (number | null)[] => {
      const found: (number | null)[] = [];
      result.eachNumber(
        result.columns.findIndex((column) => column.type === type),
        (value, row) => (found[row] = value),
      );
      return found;
    };
    expect(numbers('TimestampSecond')).to.deep.equal([-1000, null, 0]);
    expect(numbers('TimestampNanosecond')).to.deep.equal([-1e-6, null, 1_704_067_200_123.4568]);
    expect(numbers('Date')).to.deep.equal([-86_400_000, null, 1_704_067_200_000]);
    expect(numbers('Decimal(10, 2)')).to.deep.equal([-1.1, null, 0.05]);
  });

  it('are read from other writers, whose columns have no metadata', async () => {
    const wide = new Uint32Array(16).fill(0xffffffff, 8);
    wide[0] = 123;
    const columns = {
      decimal: makeData({ type: new Decimal(2, 76, 256), length: 2, nullCount: 0, data: wide }),
      fixed: vectorFromArray([Uint8Array.of(1, 2), null], new FixedSizeBinary(2)).data[0],
      half: vectorFromArray([-0, 1.5], new Float16()).data[0],
      zoned: makeData({
        type: new TimestampNanosecond('Europe/Berlin'),
        length: 2,
        nullCount: 0,
        data: BigInt64Array.of(1n, -1n),
      }),
    };
    const result = await read(written(columns));
    expect(result.columns.map(({ name, type }) => [name, type])).to.deep.equal(
      Object.keys(columns).map((name) => [name, '']),
    );
    expect(allTexts(result)).to.deep.equal([
      ['1.23', '-0.01'],
      ['0102', 'NULL'],
      ['-0', '1.5'],
      ['1970-01-01 00:00:00.000000001', '1969-12-31 23:59:59.999999999'],
    ]);
  });

  it('without rows have their columns, and those of other statements have none', async () => {
    const result = await read(...served(0));
    expect([result.columns.length, result.rowCount]).to.deep.equal([COLUMNS.length, 0]);
    for (const parts of [[], [new Uint8Array(0)], served(1, arrowFormat, [])]) {
      const empty = await read(...parts);
      expect([empty.columns, empty.rowCount]).to.deep.equal([[], 0]);
    }
  });

  it('are the same wherever the stream is cut into parts', async () => {
    const stream = joined(served(1, arrowFormat, FEW));
    for (let at = 0; at <= stream.length; at++) {
      const result = await read(stream.subarray(0, at), stream.subarray(at));
      expect(allTexts(result), `cut at ${at}`).to.deep.equal(FEW_TEXTS);
    }
    expect(allTexts(await read(...Array.from(stream, (byte) => Uint8Array.of(byte))))).to.deep.equal(FEW_TEXTS);
  });

  it('are usable while more rows arrive, and keep what has come when the request ends', async () => {
    const [head, rows] = served(1);
    const counts: number[] = [];
    let result: SqlResult | undefined;
    function* parts(): Generator<Uint8Array, void> {
      yield head;
      // A reader that takes the next part has passed on what is before it.
      expect(counts).to.deep.equal([0]);
      yield rows.subarray(0, -1);
      expect(counts).to.deep.equal([0]);
      yield joined([rows.subarray(-1), rows, rows.subarray(0, 20)]);
      expect(counts).to.deep.equal([0, ROW_COUNT, 2 * ROW_COUNT]);
      throw new DOMException('cancelled', 'AbortError');
    }
    const failure: unknown = await readArrow(sent(parts()), (partial) => {
      result = partial;
      counts.push(partial.rowCount);
    }).catch((error: unknown) => error);
    expect(failure).to.include({ name: 'AbortError' });
    expect(result?.rowCount).to.equal(2 * ROW_COUNT);
    expect(textsOf(result!, 2)).to.deep.equal([...SERVED[2][2], ...SERVED[2][2]]);
  });

  it('let the page work between batches, and stop there when the request is cancelled', async () => {
    const [head, rows] = served(1);
    const abort = new AbortController();
    let rowCount = 0;
    setImmediate(() => abort.abort());
    const failure: unknown = await readArrow(
      sent([head, ...new Array<Uint8Array>(1000).fill(rows)]),
      (partial) => {
        rowCount = partial.rowCount;
        // As long as drawing them may take.
        for (const endMs = performance.now() + 25; performance.now() < endMs;);
      },
      abort.signal,
    ).catch((error: unknown) => error);
    expect(failure).to.include({ name: 'AbortError' });
    expect(rowCount).to.be.lessThan(100 * ROW_COUNT);
  });

  it('end their request when they cannot be read', async () => {
    let isEnded = false;
    function* parts(): Generator<Uint8Array, void> {
      try {
        for (;;) yield Buffer.from('<html>');
      } finally {
        isEnded = true;
      }
    }
    const failure: unknown = await readArrow(sent(parts())).catch((error: unknown) => error);
    expect(failure)
      .to.be.instanceOf(Error)
      .and.include({ message: 'The result cannot be read: it is not an Arrow stream.' });
    expect(isEnded).to.equal(true);
  });
});

describe('damaged results of SQL in the dashboard', () => {
  const CUT = 'The result cannot be read: its end is missing.';

  it('are not taken for whole ones when their end is missing', async () => {
    const stream = joined(served(2, arrowFormat, FEW));
    for (let length = 1; length < stream.length; length++) {
      expect(await failureOf(stream.subarray(0, length)), `${length} bytes`).to.equal(CUT);
    }
    expect(await failureOf(stream, Uint8Array.of(0))).to.equal('The result cannot be read: bytes follow its end.');
  });

  it('do not make the page reserve what a message claims to have', async () => {
    const [head, rows] = served(1);
    const claim = (message: Uint8Array, at: number, value: number): Uint8Array => {
      const changed = Uint8Array.from(message);
      new DataView(changed.buffer).setInt32(at, value, true);
      return changed;
    };
    for (const bytes of [-1, 2 ** 31 - 1]) {
      expect(await failureOf(claim(head, 4, bytes))).to.match(/: the metadata of a message are too large\.$/);
    }
    const bodyBytes = rows.length - 8 - new DataView(rows.buffer, rows.byteOffset).getInt32(4, true);
    const view = new DataView(rows.buffer, rows.byteOffset);
    const at = Array.from({ length: 40 }, (_, i) => 8 + 4 * i).find((i) => view.getInt32(i, true) === bodyBytes);
    expect(at).to.be.a('number');
    for (const half of [0, 4]) {
      expect(await failureOf(head, claim(rows, at! + half, 2 ** 31 - 1))).to.match(/: a message is too large\.$/);
    }
  });

  /** Returns whether a stream has cells; otherwise its error must be that of a result that cannot be read. */
  async function isReadable(stream: Uint8Array, change: string): Promise<boolean> {
    try {
      const result = await read(stream);
      const rows = [0, 1, 2, result.rowCount - 1].filter((row) => row >= 0 && row < result.rowCount);
      for (const [i, column] of result.columns.entries()) {
        for (const row of rows) expect(cellText(result.value(i, row), column, 'UTC'), change).to.be.a('string');
      }
      return true;
    } catch (error) {
      expect((error as Error).message, change).to.match(/^The result cannot be read: [^.]+\.$/);
      return false;
    }
  }

  it('end in an error or in cells, whatever a number in them is', async () => {
    const stream = joined(served(1, arrowFormat, FEW));
    let failureCount = 0;
    const view = new DataView(stream.buffer);
    for (let at = 0; at + 4 <= stream.length; at += 4) {
      const was = view.getInt32(at, true);
      for (const value of [0, -1, 2 ** 31 - 1, was + 4, was - 4]) {
        view.setInt32(at, value, true);
        if (!(await isReadable(stream, `${value} at ${at}`))) failureCount++;
      }
      view.setInt32(at, was, true);
      // Without it, a table does not have one of its fields.
      for (const slot of [at, at + 2]) {
        view.setInt16(slot, 0, true);
        if (!(await isReadable(stream, `no field at ${slot}`))) failureCount++;
        view.setInt32(at, was, true);
      }
    }
    expect(failureCount).to.be.greaterThan(300);
    expect(allTexts(await read(stream))).to.deep.equal(FEW_TEXTS);
  });

  it('name what is not supported', async () => {
    const texts = vectorFromArray(['a', 'b', 'a'], new Dictionary(new Utf8(), new Int32())).data[0];
    const lists = vectorFromArray([[1], [2, 3]], new List(new Field('item', new Int32()))).data[0];
    expect(await failureOf(written({ texts }))).to.equal(
      'The result cannot be read: column "texts" is of another type.',
    );
    expect(await failureOf(written({ lists }))).to.equal('The result cannot be read: a column is of a nested type.');
    const compressed = arrowFormatWith('lz4');
    await compressed.load?.();
    expect(await failureOf(...served(1, compressed))).to.equal('The result cannot be read: a message is damaged.');
  });
});

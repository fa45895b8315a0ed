import { TextWriter } from '#shared/bytes/text-writer';
import { wholeText } from '#shared/bytes/whole-text';
import type { Cell, IntervalCell, ValueType } from '#shared/duckdb/chunk-reader';
import { intervalText } from '#shared/duckdb/interval-text';
import { elementsOfVector, float32Digits } from '#shared/schema/vector';

import type { Encoder, HeadColumn, OutputColumn, ResultFormat } from './format.js';

/**
 * Rows as JSON arrays, with exact integers, floats that read back equal, and null for NaN (spec: docs/http-api.md):
 *
 *     {"output":[{"records":{"schema":{"column_schemas":[..]},"rows":[..],"total_rows":1}},{"affectedrows":3}],
 *      "execution_time_ms":7}
 */
export const jsonFormat: ResultFormat = {
  names: ['greptimedb_v1', 'almanac_v1', 'json_v1'],
  contentType: 'application/json',
  isSingle: false,
  separator: ',',
  takesNumbers: true,

  head(columns, index) {
    let head = heads.get(columns);
    if (head === undefined) heads.set(columns, (head = headOf(columns)));
    return before(index) + head;
  },

  tail: (rowCount) => `],"total_rows":${rowCount}}}`,

  affected: (rowCount, index) => `${before(index)}{"affectedrows":${rowCount}}`,

  end: (resultCount, elapsedMs) => `${resultCount === 0 ? '{' : '],'}"execution_time_ms":${elapsedMs}}`,

  encodeRows(columns, cells, rowCount) {
    const writers: CellWriter[] = [];
    for (const { type } of columns) writers.push(jsonWriter(type));
    return encodeArrays(cells, rowCount, writers);
  },

  rowSql: (columns, names) => arraySql(columns, names, jsonSql),
};

/** Those of columns for which queries of one template have the same array. */
const heads = new WeakMap<readonly HeadColumn[], string>();

function headOf(columns: readonly HeadColumn[]): string {
  const schemas = columns.map(({ name, type }) => ({ name, data_type: type }));
  return `{"records":{"schema":{"column_schemas":${JSON.stringify(schemas)}},"rows":[`;
}

/** Writes one value that is not null. */
export type CellWriter = (out: TextWriter, cell: Cell) => void;

const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** Shared by all calls, which do not interrupt each other. */
const out = new TextWriter();

/** Returns rows as arrays. @param cells values by column, then row. */
export function encodeArrays(
  cells: readonly (readonly Cell[])[],
  rowCount: number,
  writers: readonly CellWriter[],
): Uint8Array {
  try {
    for (let row = 0; row < rowCount; row++) {
      if (row > 0) out.byte(COMMA);
      out.byte(OPEN);
      for (let i = 0; i < writers.length; i++) {
        const cell = cells[i][row];
        if (i > 0) out.byte(COMMA);
        if (cell === null) out.text('null');
        else writers[i](out, cell);
      }
      out.byte(CLOSE);
    }
    return out.take();
  } catch (error) {
    out.clear();
    throw error;
  }
}

/** Returns SQL for the text of a row as an array. @param valueSql as `jsonSql`. */
export function arraySql(
  columns: readonly OutputColumn[],
  names: readonly string[],
  valueSql: (column: OutputColumn, name: string) => string | undefined,
): string | undefined {
  const parts: string[] = [];
  for (const [i, column] of columns.entries()) {
    const sql = valueSql(column, names[i]);
    if (sql === undefined) return undefined;
    parts.push(`coalesce(${sql}, 'null')`);
  }
  return `concat('[', ${parts.join(`, ',', `)}, ']')`;
}

function before(index: number): string {
  return index === 0 ? '{"output":[' : ',';
}

/** Returns what writes values as `jsonEncoder` encodes them. */
export function jsonWriter(type: ValueType): CellWriter {
  switch (type.kind) {
    case 'int':
      return writeInteger;
    case 'float64':
      return writeFloat64;
    default:
      return encodedBy(jsonEncoder(type));
  }
}

/** Returns what writes the text of an encoder. */
function encodedBy(encoder: Encoder): CellWriter {
  return (to, cell) => to.text(encoder(cell));
}

function writeInteger(to: TextWriter, cell: Cell): void {
  if (typeof cell === 'number' && Number.isSafeInteger(cell)) to.whole(cell);
  else if (typeof cell === 'bigint') to.int64(cell);
  else to.text(plainText(cell));
}

function writeFloat64(to: TextWriter, cell: Cell): void {
  const value = cell as number;
  if (Number.isSafeInteger(value) && value !== 0) {
    to.whole(value);
    to.text('.0');
    return;
  }
  const thousandths = Math.round(value * 1000);
  // Up to 15 digits are the shortest text of a number that reads back equal.
  if (thousandths / 1000 === value && value !== 0 && Math.abs(thousandths) < 1e15) to.thousandths(thousandths);
  else to.text(float64Text(value));
}

/** Returns the encoder of values as JSON, with exact integers, and null for NaN and infinities. */
export function jsonEncoder(type: ValueType): Encoder {
  switch (type.kind) {
    case 'text':
      return textEncoder();
    case 'decimal':
      return (cell) => `"${plainText(cell)}"`;
    case 'float64':
      return (cell) => float64Text(cell as number);
    case 'float32':
      return (cell) => float32Text(cell as number);
    case 'binary':
      return (cell) => `[${(cell as Uint8Array).join(',')}]`;
    case 'vector':
      return (cell) => `[${[...elementsOfVector(cell as Uint8Array)].map(float32Text).join(',')}]`;
    case 'interval':
      return (cell) => `"${intervalText(cell as IntervalCell)}"`;
    case 'list':
      return listEncoder(type);
    case 'struct':
      return structEncoder(type);
    case 'map':
      return mapEncoder(type);
    default:
      return plainText; // integers, booleans, and JSON texts as they stand
  }
}

/** Returns an encoder that keeps the last text: rows of one series follow each other, and have the same tags. */
function textEncoder(): Encoder {
  let last: Cell = null;
  let json = 'null';
  return (cell) => {
    if (cell === last) return json;
    last = cell;
    return (json = JSON.stringify(cell));
  };
}

function plainText(cell: Cell): string {
  return typeof cell === 'number' ? wholeText(cell) : (cell as bigint | boolean | string).toString();
}

function nullable(type: ValueType | undefined): Encoder {
  const encoder = type === undefined ? plainText : jsonEncoder(type);
  return (cell) => (cell === null ? 'null' : encoder(cell));
}

function listEncoder(type: ValueType): Encoder {
  const item = nullable(type.child);
  return (cell) => `[${(cell as readonly Cell[]).map(item).join(',')}]`;
}

function structEncoder(type: ValueType): Encoder {
  const fields = (type.fields ?? []).map((field) => ({
    key: JSON.stringify(field.name),
    encode: nullable(field.type),
  }));
  return (cell) => {
    const { members } = cell as { readonly members: readonly Cell[] };
    return `{${fields.map((field, i) => `${field.key}:${field.encode(members[i])}`).join(',')}}`;
  };
}

function mapEncoder(type: ValueType): Encoder {
  const key = nullable(type.fields?.[0].type);
  const value = nullable(type.fields?.[1].type);
  const quoted = (text: string): string => (text.startsWith('"') ? text : JSON.stringify(text));
  return (cell) =>
    `{${(cell as readonly (readonly Cell[])[]).map((pair) => `${quoted(key(pair[0]))}:${value(pair[1])}`).join(',')}}`;
}

/** Returns the shortest text that reads back equal, always with a point or an exponent. */
function float64Text(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0.0';
  return withPoint(String(value));
}

/** Returns the shortest text of a single-precision number: `1.99`, not `1.9900000095367432`. */
function float32Text(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0.0';
  return withPoint(float32Digits(value));
}

function withPoint(text: string): string {
  return text.includes('.') || text.includes('e') ? text : `${text}.0`;
}

const TIME_SQL: Readonly<Record<string, (name: string) => string>> = {
  Date: (name) => `(${name} - DATE '1970-01-01')`,
  TimestampSecond: (name) => `epoch_us(${name}) // 1000000`,
  TimestampMillisecond: (name) => `epoch_ms(${name})`,
  TimestampMicrosecond: (name) => `epoch_us(${name})`,
  TimestampNanosecond: (name) => `epoch_ns(${name})`,
};

/** Returns SQL for the JSON text of one value, NULL for null; undefined for types that only `encodeRows` writes. */
export function jsonSql({ type }: OutputColumn, name: string): string | undefined {
  switch (type.kind) {
    case 'bool':
      return `CAST(${name} AS VARCHAR)`;
    case 'int':
      if (type.name.startsWith('TimeM')) return undefined;
      return `CAST(${TIME_SQL[type.name]?.(name) ?? name} AS VARCHAR)`;
    case 'float32':
    case 'float64':
      return `CASE WHEN isfinite(${name}) THEN CAST(${name} AS VARCHAR) END`;
    case 'text':
      return `CAST(to_json(CAST(${name} AS VARCHAR)) AS VARCHAR)`;
    case 'json':
      return name;
    case 'decimal':
      return `'"' || CAST(${name} AS VARCHAR) || '"'`;
    default:
      return undefined;
  }
}

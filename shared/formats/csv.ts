import type { ValueType } from '#shared/duckdb/chunk-reader';
import type { ColumnCells } from '#shared/duckdb/column-cells';

import { encodeCellRows, encodedBy, INTEGER_WRITER, type CellWriter, type RowShape } from './cell-rows.js';
import type { Encoder, OutputColumn, ResultFormat } from './format.js';
import { jsonEncoder, jsonSql } from './json.js';

const RECORD_END = '\r\n';
const SPECIAL = /[",\r\n]/;
const RECORDS: RowShape = { between: RECORD_END, open: '', close: '', nullText: '' };
/** A record that is one empty field would be an empty line. */
const EMPTY_FIELD = '""';

/** RFC 4180: CRLF after every record, quotes only where they are needed, an empty field for null. */
function csvFormat(name: string, header: readonly ('names' | 'types')[]): ResultFormat {
  return {
    names: [name],
    contentType: 'text/csv; charset=utf-8',
    isSingle: true,
    separator: RECORD_END,

    head(columns) {
      const records = header.map((part) => columns.map((it) => quoted(part === 'names' ? it.name : it.type)).join(','));
      return records.map((record) => record + RECORD_END).join('');
    },
    tail: (rowCount) => (rowCount === 0 ? '' : RECORD_END),
    affected: (rowCount) => `${rowCount}\n`,
    end: () => '',

    encodeRows: encodeRecords,
    encodeColumns: encodeRecords,

    rowSql(columns, names) {
      const values: string[] = [];
      for (const [i, column] of columns.entries()) {
        const sql = csvSql(column, names[i]);
        if (sql === undefined) return undefined;
        values.push(sql);
      }
      if (values.length === 1) return `coalesce(nullif(${values[0]}, ''), '""')`;
      return `concat(${values.join(`, ',', `)})`;
    },
  };
}

function encodeRecords(columns: readonly OutputColumn[], cells: readonly ColumnCells[], rowCount: number): Uint8Array {
  if (columns.length > 1) {
    const writers = columns.map(({ type }) => csvWriter(type));
    return encodeCellRows(cells, rowCount, writers, RECORDS);
  }
  const encode = csvEncoder(columns[0].type);
  const visible = encodedBy((cell) => encode(cell) || EMPTY_FIELD);
  return encodeCellRows(cells, rowCount, [visible], { ...RECORDS, nullText: EMPTY_FIELD });
}

/** The CSV formats, by their header. */
export const CSV_FORMATS: readonly ResultFormat[] = [
  csvFormat('csv', []),
  csvFormat('csvWithNames', ['names']),
  csvFormat('csvWithNamesAndTypes', ['names', 'types']),
];

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns what writes values as `csvEncoder` encodes them. */
function csvWriter(type: ValueType): CellWriter {
  switch (type.kind) {
    case 'int':
      return INTEGER_WRITER;
    case 'float64':
      return { kind: 'float', ...encodedBy(csvEncoder(type)) };
    default:
      return encodedBy(csvEncoder(type));
  }
}

function csvEncoder(type: ValueType): Encoder {
  const json = jsonEncoder(type);
  switch (type.kind) {
    case 'text':
      return (cell) => quoted(cell as string);
    case 'decimal':
      return (cell) => json(cell).slice(1, -1);
    case 'float32':
    case 'float64':
      return (cell) => (Number.isFinite(cell) ? json(cell) : notFinite(cell as number));
    case 'binary':
      return (cell) => Buffer.from(cell as Uint8Array).toString('hex');
    case 'interval':
      return (cell) => quoted(json(cell).slice(1, -1));
    default:
      return (cell) => quoted(json(cell));
  }
}

function notFinite(value: number): string {
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'inf' : '-inf';
}

/** Returns SQL for the text of one field; undefined for types that only `encodeRows` writes. */
function csvSql(column: OutputColumn, name: string): string | undefined {
  switch (column.type.kind) {
    case 'text':
      return quotedSql(`CAST(${name} AS VARCHAR)`);
    case 'json':
      return quotedSql(name);
    case 'decimal':
      return `CAST(${name} AS VARCHAR)`;
    case 'float32':
    case 'float64':
      return `CASE WHEN isnan(${name}) THEN 'NaN' ELSE CAST(${name} AS VARCHAR) END`;
    case 'bool':
    case 'int':
      return jsonSql(column, name);
    default:
      return undefined;
  }
}

function quotedSql(text: string): string {
  const escaped = `concat('"', replace(${text}, '"', '""'), '"')`;
  return `CASE WHEN ${text} IS NULL THEN NULL WHEN regexp_matches(${text}, '[",\\r\\n]') THEN ${escaped} ELSE ${text} END`;
}

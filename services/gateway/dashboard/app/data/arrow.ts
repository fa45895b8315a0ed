import { DateUnit, tableFromIPC, Type, type Batch, type DataType, type Field, type Table } from '@uwdata/flechette';

import { yieldToPage } from '../core/yield.js';
import { arrowMessages } from './arrow-messages.js';
import { unreadable } from './arrow-metadata.js';
import { SqlResult, type CellKind, type CellReader, type CellValue, type SqlColumn } from './sql-result.js';

/** Rows of a message. The server sends a few thousand; columns of NULL take no bytes. */
const MESSAGE_ROWS_MAX = 10_000_000;
const DECIMAL_DIGITS_MAX = 76;
/** Time after which the page may draw and handle input. */
const WORK_MS = 20;

/** The types that the server sends: docs/http-api.md. It sends others as text. */
const KINDS: Readonly<Record<number, CellKind>> = {
  [Type.Null]: 'text',
  [Type.Int]: 'integer',
  [Type.Float]: 'number',
  [Type.Binary]: 'binary',
  [Type.Utf8]: 'text',
  [Type.Bool]: 'boolean',
  [Type.Decimal]: 'number',
  [Type.Date]: 'time',
  [Type.Time]: 'text',
  [Type.Timestamp]: 'time',
  [Type.FixedSizeBinary]: 'binary',
};

/** Reads a result. @param onRows is called when the columns are known, then after each batch. @throws Error that says why not. */
export async function readArrow(
  parts: AsyncIterable<Uint8Array>,
  onRows?: (result: SqlResult) => void,
  signal?: AbortSignal,
): Promise<SqlResult> {
  let schema: Uint8Array | undefined;
  let result = new SqlResult([]);
  let resumedMs = performance.now();
  for await (const message of arrowMessages(parts)) {
    if (schema === undefined) {
      schema = message;
      result = new SqlResult(tableOf([schema]).schema.fields.map(columnOf));
    } else {
      append(result, tableOf([schema, message]));
    }
    onRows?.(result);
    if (performance.now() - resumedMs < WORK_MS) continue;
    await yieldToPage();
    signal?.throwIfAborted();
    resumedMs = performance.now();
  }
  return result;
}

function tableOf(messages: Uint8Array[]): Table {
  try {
    return tableFromIPC(messages, { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true });
  } catch {
    throw unreadable('a message is damaged');
  }
}

function append(result: SqlResult, { children }: Table): void {
  const batches = children.map(({ data }) => data[0] as Batch<unknown>);
  const rowCount = batches.at(0)?.length ?? 0;
  if (rowCount < 0 || rowCount > MESSAGE_ROWS_MAX || batches.some(({ length }) => length !== rowCount)) {
    throw unreadable('a message has false numbers of rows');
  }
  if (rowCount === 0) return;
  if (!batches.every((batch) => hasRow(batch, rowCount - 1))) throw unreadable('a column has too few values');
  result.append(
    rowCount,
    batches.map((batch) => readerOf(batch)),
  );
}

/** Returns whether the buffers of a batch reach to a row. */
function hasRow(batch: Batch<unknown>, row: number): boolean {
  try {
    const value = batch.value(row);
    // Days are multiplied.
    return value !== undefined && !(batch.type.typeId === Type.Date && Number.isNaN(value));
  } catch {
    return false;
  }
}

/** Returns what reads a batch of a column. Integers of 64 bits, times and decimals are exact. */
function readerOf(batch: Batch<unknown>): CellReader {
  const { typeId } = batch.type;
  if (typeId === Type.Decimal) {
    const { scale } = batch.type;
    return (row) => {
      const unscaled = batch.at(row);
      return unscaled === null ? null : decimalText(BigInt(unscaled as bigint | number), scale);
    };
  }
  if (typeId === Type.Date) {
    return (row) => {
      const milliseconds = batch.at(row);
      return milliseconds === null ? null : BigInt(milliseconds as number) / 1000n;
    };
  }
  return (row) => batch.at(row) as CellValue;
}

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const text = scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return unscaled < 0n ? `-${text}` : text;
}

function columnOf(field: Field): SqlColumn {
  // The library's types leave out that both may be null.
  const { name, type, metadata } = field as Partial<Field> & Pick<Field, 'type'>;
  const sqlType = metadata?.get('type') ?? '';
  const kind = isRead(type) ? KINDS[type.typeId] : undefined;
  if (kind === undefined) throw unreadable(`column "${name ?? ''}" is of another type`);
  const isJson = type.typeId === Type.Utf8 && /json|list|struct|map/i.test(sqlType);
  // Units of timestamps are powers of 1000.
  const fractionDigits = type.typeId === Type.Timestamp ? 3 * type.unit : 0;
  return { name: name ?? '', type: sqlType, kind: isJson ? 'json' : kind, fractionDigits };
}

/** Returns whether the parameters of a type are those of the format. */
function isRead(type: DataType): boolean {
  switch (type.typeId) {
    case Type.Int:
      return [8, 16, 32, 64].includes(type.bitWidth);
    case Type.Float:
      return [0, 1, 2].includes(type.precision);
    case Type.Timestamp:
      return [0, 1, 2, 3].includes(type.unit);
    case Type.Decimal:
      return [32, 64, 128, 256].includes(type.bitWidth) && type.scale >= 0 && type.scale <= DECIMAL_DIGITS_MAX;
    case Type.Date:
      return type.unit === DateUnit.DAY;
    default:
      return true;
  }
}

/**
 * Row batches as Arrow IPC streams (format: docs/formats/row-batch.md, https://arrow.apache.org/docs/format/Columnar.html).
 *
 * The stream has a schema and one record batch: `series`, `time`, and a column for each field, named by its column ID, with
 * the native type as metadata. Series and times are positions in dictionaries where that is shorter (`row-keys.ts`).
 */
import { RecordBatchReader, type Data, type Field, type RecordBatch } from 'apache-arrow';

import { padded } from '#shared/bytes/padded';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType } from '#shared/schema/data-type';

import {
  messageBytes,
  streamTemplate,
  writeMessage,
  type BodyArray,
  type MessageBody,
  type StreamTemplate,
} from './arrow-template.js';
import { isBytes, isStoredAs, type Column, type FixedValues } from './column.js';
import { checkBatch, type RowBatch } from './row-batch.js';
import { identityIndex, isShared, keyForms, timesOfIndex, type KeyForms } from './row-keys.js';

/** Batches that were encoded here and are still in memory: within one process decoding is free. */
const decoded = new WeakMap<Uint8Array, RowBatch>();

/**
 * Encodes a batch as one Arrow IPC stream; its length is a multiple of 8.
 *
 * The arrays of `batch` must not change afterwards: `decodeRowBatch` of the result returns them.
 */
export function encodeRowBatch(batch: RowBatch): Uint8Array {
  const { out } = encode(batch);
  decoded.set(out, batch);
  return out;
}

/** Encodes a batch whose arrays will be reused: `decodeRowBatch` of the result returns views into the result. */
export function encodeBorrowedBatch(batch: RowBatch): Uint8Array {
  const encoded = encode(batch);
  decoded.set(encoded.out, viewsOf(batch, encoded));
  return encoded.out;
}

interface EncodedBatch {
  readonly out: Uint8Array<ArrayBuffer>;
  readonly forms: KeyForms;
  /** Offsets of the list of series, if there is one, and of the rows' arrays. */
  readonly tsidsAt: number;
  readonly rowsAt: number;
}

function encode(batch: RowBatch): EncodedBatch {
  const forms = keyForms(batch);
  const hasSeriesList = !forms.isSeriesPerRow;
  const shape = { hasSeriesList, hasTimeList: forms.times !== undefined, columns: batch.columns };
  const template = streamTemplate(shape);
  const lists: MessageBody[] = [];
  if (hasSeriesList) lists.push(listBody(batch.tsids));
  if (forms.times !== undefined) lists.push(listBody(forms.times.distinct));
  const rows = rowsBody(batch, forms);

  // Every byte of it is written below.
  const out = new Uint8Array(Buffer.allocUnsafeSlow(streamBytes(template, lists, rows)).buffer);
  out.set(template.head, 0);
  let at = template.head.length;
  let tsidsAt = 0;
  for (const [i, list] of lists.entries()) {
    const listAt = writeMessage(out, at, template.dictionaries[i], list);
    if (i === 0) tsidsAt = listAt;
    at += messageBytes(template.dictionaries[i], list);
  }
  const rowsAt = writeMessage(out, at, template.rows, rows);
  out.set(template.tail, at + messageBytes(template.rows, rows));
  return { out, forms, tsidsAt, rowsAt };
}

function streamBytes(
  { head, dictionaries, rows, tail }: StreamTemplate,
  lists: MessageBody[],
  body: MessageBody,
): number {
  let bytes = head.length + messageBytes(rows, body) + tail.length;
  for (const [i, list] of lists.entries()) bytes += messageBytes(dictionaries[i], list);
  return bytes;
}

const EMPTY = new Uint8Array(0);

function listBody(values: BodyArray): MessageBody {
  return { rowCount: values.length, nullCounts: [0], arrays: [EMPTY, values] };
}

function rowsBody(batch: RowBatch, { isSeriesPerRow, times }: KeyForms): MessageBody {
  const arrays: BodyArray[] = [
    EMPTY,
    isSeriesPerRow ? batch.tsids : batch.seriesIndex,
    EMPTY,
    times?.index ?? batch.times,
  ];
  const nullCounts = [0, 0];
  for (const column of batch.columns) {
    nullCounts.push(column.nullCount);
    arrays.push(column.validity ?? EMPTY);
    if (column.kind === 'fixed') arrays.push(column.values);
    else arrays.push(column.offsets, column.bytes);
  }
  return { rowCount: batch.rowCount, nullCounts, arrays };
}

/** Returns the batch as views into its encoded bytes, in the order of `rowsBody`. */
function viewsOf(batch: RowBatch, { out, forms, tsidsAt, rowsAt }: EncodedBatch): RowBatch {
  const { rowCount } = batch;
  let at = rowsAt;
  const next = <T extends BodyArray>(source: T): T => {
    const Values = source.constructor as new (buffer: ArrayBuffer, byteOffset: number, length: number) => T;
    const view = new Values(out.buffer, at, source.length);
    at += padded(source.byteLength);
    return view;
  };
  const { isSeriesPerRow } = forms;
  const tsids = isSeriesPerRow ? next(batch.tsids) : new BigUint64Array(out.buffer, tsidsAt, batch.tsids.length);
  const seriesIndex = isSeriesPerRow ? identityIndex(rowCount) : next(batch.seriesIndex);
  if (forms.times !== undefined) next(forms.times.index);
  const times = forms.times === undefined ? next(batch.times) : batch.times.slice();
  const columns = batch.columns.map((column): Column => {
    const validity = column.validity === undefined ? undefined : next(column.validity);
    if (column.kind === 'fixed') return { ...column, validity, values: next(column.values) };
    return { ...column, validity, offsets: next(column.offsets), bytes: next(column.bytes) };
  });
  return { rowCount, tsids, seriesIndex, times, columns };
}

/**
 * Decodes the batch of one Arrow IPC stream. Arrays are views into `bytes` if it is aligned to 8, copies otherwise.
 *
 * @throws `invalid_arguments` if the bytes are not a row batch.
 */
export function decodeRowBatch(bytes: Uint8Array): RowBatch {
  const known = decoded.get(bytes);
  if (known !== undefined) return known;
  const [batch] = readBatches(bytes);
  if (batch === undefined) throw new AlmanacError('invalid_arguments', 'row batch: stream has no record batch');
  const [series, time, ...fields] = batch.data.children as [Data, Data, ...Data[]];
  const rowBatch: RowBatch = {
    rowCount: batch.numRows,
    ...decodeSeries(series, batch.numRows),
    times: decodeTimes(time, batch.numRows),
    columns: fields.map((data, i) => decodeColumn(batch.schema.fields[i + 2], data)),
  };
  checkBatch(rowBatch);
  return rowBatch;
}

/**
 * Returns the memory of a batch and of the bytes that it was decoded from: short keys are longer in memory.
 * @param bytes aligned to 8, so that other arrays are views.
 */
export function decodedBytes(bytes: Uint8Array, { times, seriesIndex }: RowBatch): number {
  let total = bytes.length;
  if (times.buffer !== bytes.buffer) total += times.byteLength;
  if (seriesIndex.buffer !== bytes.buffer && !isShared(seriesIndex)) total += seriesIndex.byteLength;
  return total;
}

function decodeSeries(series: Data, rowCount: number): Pick<RowBatch, 'tsids' | 'seriesIndex'> {
  const { values, list } = keyArrays(series, rowCount);
  if (list === undefined && values instanceof BigUint64Array) {
    const tsids = values as BigUint64Array<ArrayBuffer>;
    return { tsids, seriesIndex: identityIndex(tsids.length) };
  }
  if (!(list instanceof BigUint64Array) || !(values instanceof Uint32Array)) throw otherKeys('series');
  return { tsids: list as BigUint64Array<ArrayBuffer>, seriesIndex: values as Uint32Array<ArrayBuffer> };
}

function decodeTimes(time: Data, rowCount: number): BigInt64Array<ArrayBuffer> {
  const { values, list } = keyArrays(time, rowCount);
  if (list === undefined && values instanceof BigInt64Array) return values as BigInt64Array<ArrayBuffer>;
  if (!(list instanceof BigInt64Array) || !(values instanceof Uint8Array)) throw otherKeys('times');
  return timesOfIndex(list, values);
}

/**
 * Returns the values of a key, and the list whose positions they are.
 * @throws `invalid_arguments` if there is not one for each row: a few bytes must not become large arrays.
 */
function keyArrays(data: Data, rowCount: number): { readonly values: unknown; readonly list: unknown } {
  const values = data.values as { readonly length: number } | undefined;
  if (values?.length !== rowCount) {
    throw new AlmanacError('invalid_arguments', 'row batch: key columns differ in length');
  }
  return { values, list: data.dictionary?.data[0]?.values as unknown };
}

function otherKeys(what: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `row batch: ${what} are of other types`);
}

function readBatches(bytes: Uint8Array): RecordBatch[] {
  try {
    return [...RecordBatchReader.from(bytes)];
  } catch (error) {
    throw new AlmanacError('invalid_arguments', 'row batch: not an Arrow stream', { cause: error });
  }
}

function decodeColumn(field: Field, data: Data): Column {
  const type = field.metadata.get('type');
  if (type === undefined) throw new AlmanacError('invalid_arguments', 'row batch: field without a type');
  const columnId = Number(field.name);
  const validity = data.nullCount > 0 ? (data.nullBitmap as Uint8Array<ArrayBuffer>) : undefined;
  const base = { columnId, type, nullCount: data.nullCount, validity };
  const known = dataType(type);
  if (!isStoredAs(data.values, known)) {
    throw new AlmanacError('invalid_arguments', `row batch: column ${columnId} of type ${type} has other values`);
  }
  if (isBytes(known.storage)) {
    const offsets = data.valueOffsets as Int32Array<ArrayBuffer>;
    return { ...base, kind: 'bytes', offsets, bytes: data.values as Uint8Array<ArrayBuffer> };
  }
  return { ...base, kind: 'fixed', values: data.values as FixedValues };
}

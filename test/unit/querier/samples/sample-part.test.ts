import { expect } from 'chai';

import { SamplePart } from '#services/querier/samples/sample-part';
import type { Column as TableColumn, Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import type { Column } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';

const SIDS = [0, 1];
const OPEN = { histogram: undefined, start: undefined };
const HISTOGRAM = Buffer.from('histogram');

/** Returns a table with a time index and fields numbered from 1. */
function tableOf(types: readonly string[], options: Record<string, string> = {}): Table {
  const column = (id: number, type: string, kind: string): TableColumn => {
    return {
      id,
      name: `c${id}`,
      type,
      kind,
      nullable: true,
      defaultSql: '',
      comment: '',
      backfillSql: '',
      formerTypes: [],
      indexes: [],
    };
  };
  const columns = [column(0, 'TimestampMillisecond', 'time'), ...types.map((type, i) => column(i + 1, type, 'field'))];
  return {
    tableId: 1,
    databaseId: 1,
    database: 'public',
    name: 't',
    schemaVersion: types.length,
    columns,
    options,
    regions: [],
    createdMs: 0,
    primaryKey: [],
    ttl: '',
  };
}

function scanned(generation = 1): ScanBatch {
  const band = { timeFirst: 0n, timeLast: 0n, hasLate: false, lateFirst: 0n, lateLast: 0n };
  return { sequenceFrom: 0n, sequenceTo: 1n, batch: Buffer.alloc(0), sids: SIDS, generation, ...band };
}

/** Returns rows that alternate between two series. */
function batchOf(rowCount: number, columns: readonly Column[]): RowBatch {
  return {
    rowCount,
    tsids: new BigUint64Array(SIDS.length),
    seriesIndex: Uint32Array.from({ length: rowCount }, (_, i) => i % SIDS.length),
    times: BigInt64Array.from({ length: rowCount }, (_, i) => BigInt(i)),
    columns,
  };
}

function numbers(columnId: number, values: readonly number[]): Column {
  const common = { columnId, type: 'Float64', nullCount: 0, validity: undefined };
  return { ...common, kind: 'fixed', values: Float64Array.from(values) };
}

/** Returns a column with the same text in each row that has a value. */
function texts(columnId: number, rowCount: number, isMissing: (row: number) => boolean, text = HISTOGRAM): Column {
  const validity = new Uint8Array((rowCount + 7) >> 3);
  const offsets = new Int32Array(rowCount + 1);
  const values: Buffer[] = [];
  for (let row = 0; row < rowCount; row++) {
    if (!isMissing(row)) {
      validity[row >> 3] |= 1 << (row & 7);
      values.push(text);
    }
    offsets[row + 1] = values.length * text.length;
  }
  const nullCount = rowCount - values.length;
  return {
    columnId,
    type: 'Binary',
    kind: 'bytes',
    nullCount,
    validity,
    offsets,
    bytes: Uint8Array.from(Buffer.concat(values)),
  };
}

const pause = (): Promise<void> => Promise.resolve();

describe('SamplePart', () => {
  it('stores no text of an ordinary table', async () => {
    const table = tableOf(['Float64', ...Array.from({ length: 20 }, () => 'String')]);
    const part = new SamplePart(table, scanned());
    const count = 20_000;
    const columns = Array.from({ length: 20 }, (_, i) => texts(i + 2, count, () => false, Buffer.alloc(100, 'x')));
    const values = Array.from({ length: count }, (_, i) => i);
    await part.append(scanned(), batchOf(count, [numbers(1, values), ...columns]), pause);
    expect(part.sliceOf(1, count, { value: 1, ...OPEN })?.values.subarray(0, 2)).to.deep.equal(Float64Array.of(1, 3));
    for (let id = 2; id <= 21; id++) expect(part.has('t', Int32Array.from(SIDS), count, id)).to.equal(false);
  });

  it('tracks which rows of a metric table have a text', async () => {
    const table = tableOf(['Float64', 'Binary', 'String'], { [PHYSICAL_METRIC_TABLE]: 'true' });
    const part = new SamplePart(table, scanned());
    const values = numbers(1, [1, 2, 3, 4]);
    await part.append(scanned(), batchOf(4, [values, texts(2, 4, (row) => row !== 1)]), pause);
    await part.append(scanned(), batchOf(4, [values, texts(3, 4, (row) => row % 2 === 1)]), pause);
    const has = (sid: number, id: number): boolean => part.has(`m${sid}`, Int32Array.of(sid), 8, id);
    expect([has(0, 2), has(1, 2), has(0, 3), has(1, 3)]).to.deep.equal([false, true, true, false]);
    const { histograms, values: read } = part.sliceOf(1, 8, { value: 1, histogram: 2, start: undefined }) ?? {};
    expect(histograms?.map((bytes) => bytes && Buffer.from(bytes).toString())).to.deep.equal([
      'histogram',
      undefined,
      undefined,
      undefined,
    ]);
    expect(Array.from(read ?? [])).to.deep.equal([2, 4, 2, 4]);
  });

  it('is outdated for a column that it dropped, and accepts no rows with a newer one', async () => {
    const old = tableOf(['Float64']);
    const next = tableOf(['Float64', 'Float64']);
    const withText = tableOf(['Float64', 'String']);
    const part = new SamplePart(old, scanned());
    const batch = batchOf(2, [numbers(1, [1, 2]), numbers(2, [3, 4])]);
    expect(part.accepts(scanned(), batchOf(2, [numbers(1, [1, 2])]))).to.equal(true);
    expect(part.accepts(scanned(), batch)).to.equal(false);
    expect(part.isOutdatedFor(next)).to.equal(false);
    await part.append(scanned(), batch, pause);
    expect([part.isOutdatedFor(old), part.isOutdatedFor(withText), part.isOutdatedFor(next)]).to.deep.equal([
      false,
      false,
      true,
    ]);
    expect(part.accepts(scanned(), batch)).to.equal(true);
    expect(part.accepts(scanned(2), batch)).to.equal(false);
  });

  it('pauses within long columns', async () => {
    const count = 200_000;
    const table = tableOf(['Float64', 'Binary'], { [PHYSICAL_METRIC_TABLE]: 'true' });
    const part = new SamplePart(table, scanned());
    let rests = 0;
    const values = Array.from({ length: count }, (_, i) => i);
    const batch = batchOf(count, [numbers(1, values), texts(2, count, (row) => row % 1000 !== 0)]);
    await part.append(scanned(), batch, () => {
      rests++;
      return Promise.resolve();
    });
    expect(rests).to.be.at.least(9);
    const slice = part.sliceOf(0, count, { value: 1, histogram: 2, start: undefined });
    expect(slice?.values.every((value, i) => value === 2 * i)).to.equal(true);
    expect(slice?.histograms?.filter((bytes) => bytes !== undefined).length).to.equal(200);
  });
});

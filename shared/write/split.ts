import type { RegionInfo } from '#shared/contracts/gen/common';
import type { SeriesEntry } from '#shared/rowbatch/builder';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { selectRows } from '#shared/rowbatch/select-rows';
import type { TableIndex } from './table-index.js';

/** Rows for one region. */
export interface RegionPart {
  readonly index: TableIndex;
  readonly region: RegionInfo;
  readonly batch: RowBatch;
  /** In the order of `batch.tsids`. */
  readonly series: readonly SeriesEntry[];
  /** `knownBy` of all these series, if it is the same. */
  readonly knownBy: object | undefined;
}

/** Rows of a table, for whatever regions. */
export type TablePart = Omit<RegionPart, 'region'>;

/** Where a row goes: by the upper half of its series id, evenly. */
export function regionOf(tsidHigh: number, regionCount: number): number {
  return Math.floor((tsidHigh * regionCount) / 4294967296);
}

/**
 * The rows by region. Tables that keep every row have no versions to keep together: there a whole batch goes to the
 * region whose turn it is.
 */
export function splitRows({ index, batch, series, knownBy }: TablePart, turn: number): RegionPart[] {
  const { regions } = index;
  if (batch.rowCount === 0) return [];
  if (regions.length === 1) return [{ index, region: regions[0], batch, series, knownBy }];
  if (index.isAppendOnly) return [{ index, region: regions[turn % regions.length], batch, series, knownBy }];

  const regionOfSeries = placeSeries(batch.tsids, regions.length);
  const counts = new Uint32Array(regions.length);
  for (let row = 0; row < batch.rowCount; row++) counts[regionOfSeries[batch.seriesIndex[row]]]++;
  const parts: RegionPart[] = [];
  for (const [k, region] of regions.entries()) {
    if (counts[k] === batch.rowCount) return [{ index, region, batch, series, knownBy }];
    if (counts[k] === 0) continue;
    const selected = selectRows(batch, rowsOf(k, counts[k], batch.seriesIndex, regionOfSeries));
    const used = Array.from(selected.seriesFrom, (position) => series[position]);
    parts.push({ index, region, batch: selected.batch, series: used, knownBy });
  }
  return parts;
}

function placeSeries(tsids: BigUint64Array, regionCount: number): Uint16Array {
  const words = new Uint32Array(tsids.buffer, tsids.byteOffset, tsids.length * 2);
  const places = new Uint16Array(tsids.length);
  for (let i = 0; i < places.length; i++) places[i] = regionOf(words[2 * i + 1], regionCount);
  return places;
}

function rowsOf(region: number, count: number, seriesIndex: Uint32Array, regionOfSeries: Uint16Array): Uint32Array {
  const rows = new Uint32Array(count);
  let at = 0;
  for (let row = 0; row < seriesIndex.length; row++) {
    if (regionOfSeries[seriesIndex[row]] === region) rows[at++] = row;
  }
  return rows;
}

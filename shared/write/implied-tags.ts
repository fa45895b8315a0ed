import { SeriesEntry } from '#shared/rowbatch/builder';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';

import type { TableIndex } from './table-index.js';

/** Rows of a table, and the series that they refer to by position. */
interface SeriesRows {
  readonly index: TableIndex;
  readonly batch: RowBatch;
  readonly series: readonly SeriesEntry[];
  readonly knownBy: object | undefined;
}

/** Returns the rows with tags left out where series without them read as the same (`impliedTags`). */
export function withoutImpliedTags<T extends SeriesRows>(rows: T): T {
  if (rows.index.implied.size === 0) return rows;
  const places = new Map<bigint, number>();
  const series: SeriesEntry[] = [];
  let isChanged = false;
  const placeOf = Uint32Array.from(rows.series, (given) => {
    const entry = stripped(given, rows.index);
    isChanged ||= entry !== given;
    const { tsid } = entry;
    const place = places.get(tsid) ?? series.length;
    if (place < series.length) return place;
    places.set(tsid, place);
    series.push(entry);
    return place;
  });
  if (!isChanged) return rows;
  const seriesIndex = rows.batch.seriesIndex.map((position) => placeOf[position]);
  const tsids = BigUint64Array.from(series, ({ tsid }) => tsid);
  return { ...rows, batch: { ...rows.batch, seriesIndex, tsids }, series, knownBy: undefined };
}

/** Returns a series without the tags; the same one each time, because senders remember which series an owner knows. */
function stripped(given: SeriesEntry, { byName, implied, withoutImplied }: TableIndex): SeriesEntry {
  const known = withoutImplied.get(given);
  if (known !== undefined) return known;
  const isImplied = ({ name, value }: Tag): boolean => {
    const text = implied.get(byName.get(name)?.id ?? 0);
    return text !== undefined && Buffer.from(value).equals(Buffer.from(text));
  };
  const { tags } = given;
  const kept = tags.filter((tag) => !isImplied(tag));
  const typeOf = (name: string): string => byName.get(name)?.type ?? 'String';
  const entry = kept.length === tags.length ? given : new SeriesEntry(given.table, seriesId(kept, typeOf), kept);
  withoutImplied.set(given, entry);
  return entry;
}

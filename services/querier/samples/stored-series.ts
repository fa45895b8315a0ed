import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import { MissingFile } from '#shared/segments/local-store';

import { compareLabels, type Labels } from '../series/labels.js';
import { mergeSlices, type SampleSlice } from './sample-slice.js';
import type { StoredSeries } from './sample-source.js';
import { sortedInSlices } from '../series/sliced-sort.js';
import type { SeriesGroup, SeriesPlace } from './table-samples.js';
import type { TimeRange } from './segment-requests.js';

export interface StoredRead {
  /** Finds the series. */
  readonly places: () => Promise<SeriesPlace[]>;
  /** Called when a file is not there any more; then the series are looked for anew. */
  readonly refresh: () => Promise<void>;
  readonly range: TimeRange;
  readonly clock: Clock;
  readonly call: Call;
}

/** Series that are read together: first so many, then as many as have about so many rows. */
const FIRST_SERIES = 64;
const MOST_SERIES = 8192;
const BATCH_ROWS = 512 * 1024;

/** Reads series in the order of their labels, some at a time; equal label sets are one series. */
export async function* storedSeries(read: StoredRead): AsyncIterable<StoredSeries> {
  let last: Labels | undefined;
  for (let isRenewed = false; ; isRenewed = true) {
    try {
      for await (const series of readAll(read, last)) {
        last = series.labels;
        yield series;
      }
      return;
    } catch (error) {
      if (isRenewed || !(error instanceof MissingFile)) throw error;
    }
    await read.refresh();
  }
}

/** @param after the series from which on; undefined: all. */
async function* readAll(read: StoredRead, after: Labels | undefined): AsyncIterable<StoredSeries> {
  const { clock, call } = read;
  const order = (one: SeriesPlace, other: SeriesPlace): number => compareLabels(one.labels, other.labels);
  const slices = new Slices(clock, { check: () => checkCall(call) });
  const places = await sortedInSlices(await read.places(), order, slices);
  let at = after === undefined ? 0 : places.findIndex(({ labels }) => compareLabels(labels, after) > 0);
  if (at < 0) return;
  for (let count = FIRST_SERIES; at < places.length;) {
    checkCall(call);
    let end = Math.min(at + count, places.length);
    while (end < places.length && places[end].labels.key === places[end - 1].labels.key) end++;
    const batch = places.slice(at, end);
    const { pieces, rowCount } = await piecesOf(batch, read);
    yield* joined(batch, pieces);
    await clock.yield();
    const perSeries = rowCount / batch.length;
    count = Math.max(1, Math.min(MOST_SERIES, 4 * count, Math.floor(BATCH_ROWS / Math.max(perSeries, 1))));
    at = end;
  }
}

/** What was read of some series, by place. */
interface BatchPieces {
  readonly pieces: readonly (SampleSlice | undefined)[];
  readonly rowCount: number;
}

async function piecesOf(batch: readonly SeriesPlace[], { range, call }: StoredRead): Promise<BatchPieces> {
  const groups = new Map<SeriesGroup, number[]>();
  for (const [i, { group }] of batch.entries()) {
    const own = groups.get(group);
    if (own === undefined) groups.set(group, [i]);
    else own.push(i);
  }
  const pieces = new Array<SampleSlice | undefined>(batch.length);
  let rowCount = 0;
  for (const [group, own] of groups) {
    const sids = Int32Array.from(own, (i) => batch[i].sid).sort();
    const found = await group.samples.pieces(group, sids, range, call);
    for (const i of own) {
      pieces[i] = found.get(batch[i].sid);
      rowCount += pieces[i]?.times.length ?? 0;
    }
  }
  return { pieces, rowCount };
}

/** Places with samples; neighbours of the same labels become one. */
function* joined(batch: readonly SeriesPlace[], pieces: BatchPieces['pieces']): Iterable<StoredSeries> {
  for (let at = 0; at < batch.length;) {
    const { labels } = batch[at];
    const own: SampleSlice[] = [];
    for (; at < batch.length && batch[at].labels.key === labels.key; at++) {
      const piece = pieces[at];
      if (piece !== undefined) own.push(piece);
    }
    if (own.length > 0) yield { labels, slice: own.length === 1 ? own[0] : mergeSlices(own, false) };
  }
}

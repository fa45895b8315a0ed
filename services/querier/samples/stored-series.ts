import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import { MissingFile } from '#shared/segments/local-store';

import { compareLabels, type Labels } from '../series/labels.js';
import { mergeSlices, type SampleSlice } from './sample-slice.js';
import type { StoredSeries } from './sample-source.js';
import { sortedInSlices } from '../series/sliced-collections.js';
import type { SeriesGroup, SeriesLocation } from './table-samples.js';
import type { TimeRange } from './segment-requests.js';

/** Arguments of `storedSeries`. */
export interface StoredRead {
  /** Finds the series. */
  readonly locations: () => Promise<SeriesLocation[]>;
  /** Called when a file is missing, before the series are located again. */
  readonly refresh: () => Promise<void>;
  readonly range: TimeRange;
  readonly clock: Clock;
  readonly call: Call;
}

/** Number of series in the first batch and the largest batch, and the number of rows that other batches aim at. */
const FIRST_SERIES = 64;
const SERIES_MAX = 8192;
const BATCH_ROWS = 512 * 1024;

/** Yields series ordered by labels, reading them in batches. Equal label sets are merged into one series. */
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

/** @param after yields only series after these labels; undefined: all. */
async function* readAll(read: StoredRead, after: Labels | undefined): AsyncIterable<StoredSeries> {
  const { clock, call } = read;
  const order = (one: SeriesLocation, other: SeriesLocation): number => compareLabels(one.labels, other.labels);
  const slices = new Slices(clock, { check: () => checkCall(call) });
  const locations = await sortedInSlices(await read.locations(), order, slices);
  let at = after === undefined ? 0 : locations.findIndex(({ labels }) => compareLabels(labels, after) > 0);
  if (at < 0) return;
  for (let count = FIRST_SERIES; at < locations.length;) {
    checkCall(call);
    let end = Math.min(at + count, locations.length);
    while (end < locations.length && locations[end].labels.key === locations[end - 1].labels.key) end++;
    const batch = locations.slice(at, end);
    const { runs, rowCount } = await readBatch(batch, read);
    yield* joinEqual(batch, runs);
    await clock.yield();
    const perSeries = rowCount / batch.length;
    count = Math.max(1, Math.min(SERIES_MAX, 4 * count, Math.floor(BATCH_ROWS / Math.max(perSeries, 1))));
    at = end;
  }
}

/** Samples of a batch, by position in the batch. */
interface BatchSamples {
  readonly runs: readonly (SampleSlice | undefined)[];
  readonly rowCount: number;
}

async function readBatch(batch: readonly SeriesLocation[], { range, call }: StoredRead): Promise<BatchSamples> {
  const groups = new Map<SeriesGroup, number[]>();
  for (const [i, { group }] of batch.entries()) {
    const own = groups.get(group);
    if (own === undefined) groups.set(group, [i]);
    else own.push(i);
  }
  const runs = new Array<SampleSlice | undefined>(batch.length);
  let rowCount = 0;
  for (const [group, own] of groups) {
    const sids = Int32Array.from(own, (i) => batch[i].sid).sort();
    const found = await group.samples.read(group, sids, range, call);
    for (const i of own) {
      runs[i] = found.get(batch[i].sid);
      rowCount += runs[i]?.times.length ?? 0;
    }
  }
  return { runs, rowCount };
}

/** Yields the series that have samples. Neighbours with equal labels are merged. */
function* joinEqual(batch: readonly SeriesLocation[], runs: BatchSamples['runs']): Iterable<StoredSeries> {
  for (let at = 0; at < batch.length;) {
    const { labels } = batch[at];
    const own: SampleSlice[] = [];
    for (; at < batch.length && batch[at].labels.key === labels.key; at++) {
      const run = runs[at];
      if (run !== undefined) own.push(run);
    }
    if (own.length > 0) yield { labels, slice: own.length === 1 ? own[0] : mergeSlices(own, false) };
  }
}

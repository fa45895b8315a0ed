import type { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';

import type { SelectedSeries } from '../../series/selected-series.js';
import { MS_PER } from '../../series/millis.js';
import type { SegmentFiles } from '../../snapshot/segment-files.js';
import type { SampleView } from '../sample-layout.js';
import type { SampleColumns } from '../sample-slice.js';
import type { SampleCount } from '../sample-source.js';
import { segmentRequests, type TimeRange } from '../segment-requests.js';
import type { SegmentRequest, SegmentSamples } from '../segment-samples.js';
import { timeUnitOfTable } from '../series-in-range.js';
import { JoinedSamples, type SeriesSamples } from './joined-samples.js';

/** Flushed samples of the same series that were read before. */
export interface EarlierSamples {
  readonly range: TimeRange;
  readonly manifest: RegionManifest;
  /** Greatest time of the samples. */
  readonly lastMs: number;
  readonly series: Iterable<readonly [sid: number, samples: SeriesSamples]>;
}

/** What to read of a region. */
export interface FlushedQuery {
  readonly table: Table;
  readonly view: SampleView;
  readonly columns: SampleColumns;
  readonly selected: SelectedSeries;
  readonly range: TimeRange;
  /** Undefined: everything is read. */
  readonly earlier: EarlierSamples | undefined;
}

/** What flushed samples are read with. */
interface FlushedDeps {
  readonly segments: SegmentSamples;
  readonly files: SegmentFiles;
  readonly count: SampleCount;
}

/**
 * Reads the flushed samples of series in a range, in which no row replaces another one: those of earlier segments are taken
 * from what was read before, and others are decoded without being kept.
 *
 * @returns undefined if the samples must be read in another way.
 */
export async function flushedSamples(
  query: FlushedQuery,
  { segments, files, count }: FlushedDeps,
  call: Call,
  slices: Slices,
): Promise<JoinedSamples | undefined> {
  const { table, view, columns, selected, range } = query;
  const all = await segmentRequests(view, table, { range, selected, slices });
  const { before, after } = requestsAround(all, query);
  await files.check([...before, ...after].map(({ segment }) => segment));
  const joined = new JoinedSamples(selected.sids);
  const read = async (requests: readonly SegmentRequest[]): Promise<boolean> => {
    for (const one of requests) {
      const isRead = await segments.visit(table, one, columns, slices, (sid, slice) => {
        count.samples += slice.times.length;
        joined.add(sid, slice);
      });
      checkCall(call);
      if (!isRead || !joined.isPlain) return false;
    }
    return true;
  };
  if (!(await read(before))) return undefined;
  for (const [sid, samples] of query.earlier?.series ?? []) {
    joined.addSamples(sid, samples);
    if (slices.isOver(1)) await slices.yield();
  }
  return (await read(after)) && joined.isPlain ? joined : undefined;
}

/** Reports whether rows that a manifest has in addition are all later than the samples, and none was removed or merged. */
export function isContinued({ manifest, lastMs }: EarlierSamples, table: Table, now: RegionManifest): boolean {
  if (manifest.version === now.version) return true;
  if (manifest.truncatedSequence !== now.truncatedSequence) return false;
  const factor = MS_PER[timeUnitOfTable(table)];
  const known = new Set(manifest.segments.map(({ path }) => path));
  const added = now.segments.filter(({ path }) => !known.has(path));
  const isWhole = now.segments.length - added.length === known.size;
  // A millisecond less, because the conversion to doubles may round.
  return isWhole && added.every(({ timeFirst }) => Math.floor(Number(timeFirst) * factor) - 1 > lastMs);
}

/** Returns what must be read before and after the earlier samples. */
function requestsAround(
  all: readonly SegmentRequest[],
  { range: open, earlier }: FlushedQuery,
): { readonly before: readonly SegmentRequest[]; readonly after: readonly SegmentRequest[] } {
  const within = (some: readonly SegmentRequest[], { fromMs, toMs }: TimeRange): SegmentRequest[] => {
    if (fromMs >= toMs) return [];
    // Ranges of requests include both ends.
    const range = { fromMs: Math.floor(fromMs) + 1, toMs: Math.floor(toMs) };
    return some.map((one) => ({ ...one, range }));
  };
  if (earlier === undefined) return { before: [], after: within(all, open) };
  const known = new Set(earlier.manifest.segments.map(({ path }) => path));
  const isKnown = ({ segment }: { readonly segment: Segment }): boolean => known.has(segment.path);
  const old = all.filter(isKnown);
  return {
    before: within(old, { fromMs: open.fromMs, toMs: earlier.range.fromMs }),
    after: [
      ...within(old, { fromMs: earlier.range.toMs, toMs: open.toMs }),
      ...within(
        all.filter((one) => !isKnown(one)),
        open,
      ),
    ],
  };
}

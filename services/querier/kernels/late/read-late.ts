import { mergeModeOf } from '#shared/schema/table-schema';
import { around, overlaps, type Band } from '#shared/segments/bands';

import { hasBetween } from '../../columns/column-cache.js';
import { narrow } from '../fresh/gathered-values.js';
import { selectedRuns } from '../fresh/read-part.js';
import { NotForKernels, NotNowForKernels } from '../query.js';
import { addRows, type RegionRead } from '../read-rows.js';
import { RowWalk } from '../row-walk.js';
import type { RegionSeries } from '../series-groups.js';
import { bucketOf, timeGrid } from '../time-grid.js';
import { LateMemoryShort, LateRows, TooManyLateRows, type MergedRows, type SortedRows } from './late-rows.js';
import type { MergedBlocks } from './merged-blocks.js';

/** A time range with both ends. */
interface LateRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** What is read of a region in late bands, and how. */
export interface LateRead extends RegionRead {
  readonly blocks: MergedBlocks;
  /** Names the region. */
  readonly name: string;
  readonly seriesCount: number;
}

/** Fewer rows are merged for one query, more in blocks that are kept for others. */
const ROWS_ALONE = 1 << 14;
/** Rows of a block, at most twice as many on average. A block with more than 2^18, or than memory allows, is divided. */
const BLOCK_ROWS = 1 << 16;

/** Reads rows that may have several versions, of which only the newest satisfies the conditions or does not. */
export async function addLate(range: LateRange, walk: RowWalk, read: LateRead): Promise<void> {
  const sources = sourcesWithin(range, read);
  const times = around([...sources.segments, ...sources.parts].map(({ band }) => band));
  if (times === undefined) return;
  const rows = rowsOf(sources.segments) + rowsOf(sources.parts);
  const from = range.from > times.first ? range.from : times.first;
  const to = range.to <= times.last ? range.to : times.last + 1n;
  const part = Number(to - from) / Number(times.last + 1n - times.first);
  const selected = rows * part * shareOf(read.series, read.seriesCount);
  if (selected < ROWS_ALONE) {
    try {
      return await addMerged(range, walk, read, selected);
    } catch (error) {
      if (!(error instanceof TooManyLateRows)) throw error;
    }
  }
  const unitsPerRow = Number(times.last + 1n - times.first) / rows;
  const size = blockSize(unitsPerRow, to - from, sources, read.seriesCount);
  const long = 1n << BigInt(size.level);
  const fresh = around(sources.parts.map(({ band }) => band));
  const last = bucketOf(to - 1n, { step: long, origin: 0n });
  for (let block = bucketOf(from, { step: long, origin: 0n }); block <= last; block++) {
    const bounds = { from: block * long, to: (block + 1n) * long };
    // Each new row makes the blocks around it be merged again: these must be short.
    const isChanging = fresh !== undefined && overlaps(fresh, bounds);
    if (isChanging || size.width === WIDTH_MAX) {
      await addShortBlocks({ ...bounds, level: size.shortLevel }, range, walk, read);
    } else await addChunks({ level: size.level, block, width: size.width }, range, walk, read);
  }
}

/** Reads the part of a range within some times in blocks with all series. */
async function addShortBlocks(
  { from, to, level }: LateRange & Pick<BlockPlace, 'level'>,
  range: LateRange,
  walk: RowWalk,
  read: LateRead,
): Promise<void> {
  const step = 1n << BigInt(level);
  const first = from > range.from ? from : range.from;
  const end = to < range.to ? to : range.to;
  const last = bucketOf(end - 1n, { step, origin: 0n });
  for (let block = bucketOf(first, { step, origin: 0n }); block <= last; block++) {
    if (walk.isComplete) return;
    await addBlock({ level, block, width: WIDTH_MAX, chunk: 0 }, range, walk, read);
  }
}

/** Reads the part of a range within a block, chunk by chunk of the series. */
async function addChunks(
  place: Omit<BlockPlace, 'chunk'>,
  range: LateRange,
  walk: RowWalk,
  read: LateRead,
): Promise<void> {
  const chunks = Math.ceil(read.seriesCount / 2 ** place.width);
  for (let chunk = 0; chunk < chunks; chunk++) {
    if (walk.isComplete) return;
    await addBlock({ ...place, chunk }, range, walk, read);
    if (read.slices.isOver(1)) await read.slices.yield();
  }
}

/** The series `[chunk, chunk + 1) * 2^width` in the times `[block, block + 1) * 2^level`. */
interface BlockPlace {
  readonly level: number;
  readonly block: bigint;
  readonly width: number;
  readonly chunk: number;
}

/** Width of a block that has all series, in a table without series, too. */
const WIDTH_MAX = 32;

/** Times with more units are not exact as numbers (`LENGTH_EXACT`). */
const LEVEL_MAX = 52;

interface BlockSize extends Pick<BlockPlace, 'level' | 'width'> {
  /** Level of blocks with all series. */
  readonly shortLevel: number;
}

/**
 * Returns the size of blocks with about `BLOCK_ROWS` rows. Segments are sorted by series, and so a block with all series in a
 * part of the times of a segment has to read all of it.
 *
 * @param length of the time range that is read
 */
function blockSize(unitsPerRow: number, length: bigint, { segments }: RangeSources, seriesCount: number): BlockSize {
  const shortLevel = Math.max(0, Math.floor(Math.log2(unitsPerRow * BLOCK_ROWS)) + 1);
  const span = Math.max(0, ...segments.map(({ band }) => Number(band.last - band.first)));
  const whole = Math.floor(Math.log2(Math.max(1, Math.min(span, Number(length)))));
  const level = Math.min(whole, LEVEL_MAX);
  if (level <= shortLevel || seriesCount < 2) return { level: shortLevel, shortLevel, width: WIDTH_MAX };
  const rows = 2 ** level / unitsPerRow;
  const width = Math.max(0, Math.floor(Math.log2((seriesCount * BLOCK_ROWS) / rows)) + 1);
  return { level, shortLevel, width: 2 ** width >= seriesCount ? WIDTH_MAX : width };
}

async function addBlock(place: BlockPlace, range: LateRange, walk: RowWalk, read: LateRead): Promise<void> {
  const { level, block } = place;
  const bounds = { from: block << BigInt(level), to: (block + 1n) << BigInt(level) };
  if (bounds.from >= range.to || bounds.to <= range.from) return;
  const { series, slices } = read;
  const ofBlock = seriesOf(place, read);
  if (!isSelected(ofBlock, series)) return;
  const sources = sourcesWithin(bounds, read);
  if (sources.name === '') return;
  const rows = await undividedBlock(place, { bounds, series: ofBlock }, sources, read);
  if (rows === undefined) {
    for (const half of halvesOf(place)) await addBlock(half, range, walk, read);
    return;
  }
  const { runs, fields } = rows;
  walk.addRuns(runs, fields, series, selectedRuns(runs, series.sids));
  if (slices.isOver(runs.rows[runs.count] * (read.fields.length + 1))) await slices.yield();
}

/** The series `[first, end)`; undefined: all. */
type SeriesRange = { readonly first: number; readonly end: number } | undefined;

/** Returns the series of a block, of which there may be none. */
function seriesOf({ width, chunk }: BlockPlace, { seriesCount }: LateRead): SeriesRange {
  if (width === WIDTH_MAX) return undefined;
  const first = chunk * 2 ** width;
  return { first, end: Math.min(first + 2 ** width, seriesCount) };
}

/** Whether a query may select some of the series. */
function isSelected(range: SeriesRange, { sids }: RegionSeries): boolean {
  if (range === undefined) return true;
  return range.first < range.end && (sids === undefined || hasBetween(sids, range.first, range.end - 1));
}

/** Returns the rows of a block; undefined if it must be divided. @throws `NotForKernels` if that is impossible. */
async function undividedBlock(
  place: BlockPlace,
  rows: BlockRows,
  sources: RangeSources,
  read: LateRead,
): Promise<SortedRows | undefined> {
  const { blocks, name, source } = read;
  const { level, block, width, chunk } = place;
  const key = `${name} ${mergeModeOf(source.table)} ${level} ${block} ${width} ${chunk}`;
  if (blocks.isDivided(key)) return undefined;
  try {
    return await mergedBlock(key, rows, sources, read);
  } catch (error) {
    if (!(error instanceof TooManyLateRows)) throw error;
    const isShort = error instanceof LateMemoryShort;
    const isWhole = level === 0 && !hasSeveralSeries(place);
    if (isWhole && isShort) throw new NotNowForKernels('late rows take more memory than kernels have');
    if (isWhole) throw new NotForKernels('too many late rows have the same time');
    if (!isShort) blocks.divide(key);
    return undefined;
  }
}

/** Divides a block by series, or if it has only one, or all, by time. */
function halvesOf(place: BlockPlace): BlockPlace[] {
  const { level, block, width, chunk } = place;
  if (hasSeveralSeries(place)) {
    return [2 * chunk, 2 * chunk + 1].map((half) => ({ ...place, width: width - 1, chunk: half }));
  }
  return [2n * block, 2n * block + 1n].map((half) => ({ ...place, level: level - 1, block: half }));
}

/** Whether a block can be divided by series. */
function hasSeveralSeries({ width }: BlockPlace): boolean {
  return width > 0 && width < WIDTH_MAX;
}

/** Returns what selects some series. */
function selectionOf(range: SeriesRange): RegionSeries {
  if (range === undefined) return ALL_SERIES;
  const { first, end } = range;
  return {
    labels: new Int32Array(end).fill(1, first),
    sids: Int32Array.from({ length: end - first }, (_, i) => first + i),
  };
}

/** What a block has. */
interface BlockRows {
  readonly bounds: LateRange;
  readonly series: SeriesRange;
}

/** Returns the rows of a block. */
async function mergedBlock(
  key: string,
  { bounds, series }: BlockRows,
  { name, parts }: RangeSources,
  read: LateRead,
): Promise<SortedRows> {
  const { blocks, fields, deps } = read;
  const ids = fields.map(({ id }) => id);
  const known = blocks.get(key, name, ids);
  if (known !== undefined) return known;
  // Other queries read the block, too, and may need more than the newest rows.
  const ofBlock = { ...read, series: selectionOf(series), isTransient: true, needsLast: false };
  const { late, rows } = await merged(bounds, ofBlock, 2 * BLOCK_ROWS);
  const fieldsRead = new Map(Array.from(rows.fields, ([id, values]) => [id, narrow(values)]));
  const partsRead = parts.map(({ part }) => part);
  const block = { runs: rows.runs, fields: fieldsRead };
  blocks.set({ place: key, sources: name }, ids, block, partsRead, deps.columns);
  late.release();
  return block;
}

const ALL_SERIES: RegionSeries = { labels: undefined, sids: undefined };

async function addMerged(range: LateRange, walk: RowWalk, read: LateRead, expected: number): Promise<void> {
  const { late, rows } = await merged(range, read, expected);
  walk.addRuns(rows.runs, rows.fields, read.series);
  late.release();
}

/** Merges the rows of a range. @param expected number of rows, about. @returns them, and what releases their memory. */
async function merged(
  range: LateRange,
  read: LateRead,
  expected: number,
): Promise<{ readonly late: LateRows; readonly rows: MergedRows }> {
  const { fields, source, deps, slices } = read;
  const band = { first: range.from, last: range.to - 1n };
  const late = new LateRows(
    band,
    fields.map(({ id }) => id),
    deps.memory,
  );
  try {
    late.expect(expected);
    const all = { bounds: range, tagConditions: [], fieldConditions: [] };
    await addRows(range, new RowWalk(all, timeGrid(undefined, 0n, 0n), late, true), read);
    return { late, rows: await late.merged(mergeModeOf(source.table), slices) };
  } catch (error) {
    late.release();
    throw error;
  }
}

/** What has rows in a range. */
interface RangeSources {
  /** Names all of it; '' if there is none. */
  readonly name: string;
  readonly segments: readonly { readonly band: Band; readonly rowCount: number }[];
  readonly parts: readonly (RegionRead['parts'][number] & { readonly band: Band; readonly rowCount: number })[];
}

function rowsOf(sources: readonly { readonly rowCount: number }[]): number {
  return sources.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

function sourcesWithin(bounds: LateRange, read: RegionRead): RangeSources {
  const names: string[] = [];
  const segments: { band: Band; rowCount: number }[] = [];
  for (const { segment, name } of read.segments) {
    const band = { first: segment.timeFirst, last: segment.timeLast };
    if (!overlaps(band, bounds)) continue;
    names.push(name);
    segments.push({ band, rowCount: segment.rowCount });
  }
  const parts = read.parts.flatMap((rows) => {
    const name = nameOfRows(rows, bounds);
    if (name === '' || rows.part.times === undefined) return [];
    names.push(name);
    return { ...rows, band: rows.part.times };
  });
  return { name: names.join(' '), segments, parts };
}

/** Names the groups and batches of a part that have rows in a range; '' if there are none. */
function nameOfRows(
  { part, groups, rest, rowCount, restCount }: RegionRead['parts'][number],
  bounds: LateRange,
): string {
  const keys = groups.filter(({ times }) => overlaps(times, bounds)).map(({ key }) => key);
  let end = 0;
  let rows = 0;
  for (const batch of rest) {
    rows += batch.rows.rowCount;
    if (overlaps(batch.times, bounds)) end = rows;
  }
  // The groups before them determine which batches these are.
  if (end > 0) keys.push(`${part.relation}:${rowCount - restCount}+${Math.min(end, restCount)}`);
  return keys.join(' ');
}

/** Returns the part of a region's series that a query selects. */
function shareOf({ labels, sids }: RegionSeries, seriesCount: number): number {
  if (sids !== undefined) return sids.length / Math.max(1, seriesCount);
  if (labels === undefined) return 1;
  let count = 0;
  for (const label of labels) if (label !== 0) count++;
  return count / Math.max(1, seriesCount);
}

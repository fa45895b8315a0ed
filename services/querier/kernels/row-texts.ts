import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';
import { timeIndexOf } from '#shared/schema/table-schema';

import { SharedProgress } from '../columns/shared-progress.js';
import { UnreadableSegment } from '../snapshot/segment-files.js';
import type { TableSource } from '../snapshot/snapshots.js';
import type { KernelDeps } from './deps.js';
import { checkIntegers } from './field-values.js';
import { NotForKernels, NotNowForKernels, type RowQuery } from './query.js';
import { bytesAtOnce, checkUnit, decoded, valuesOfGroup } from './read-rows.js';
import { readUnscanned, scannedRegions, scannedRows, type ReadPlan } from './read-source.js';
import type { ResultRows } from './result/result.js';
import { THREAD_FORMATS, useOf, type RowsText, type TextOutput } from './result/result-text.js';
import { collectorBytes, FAST_COLLECTED_CELLS_MAX, RowCollector, type TagsOf } from './row-collector.js';
import { NO_PLACE, type ScannedRegion, type ScannedTag, type Scans, type TextScan } from './scan.js';
import { isMuchLate } from './work.js';

/** A query of rows, and what it reads. */
export interface RowRead {
  readonly query: RowQuery;
  readonly source: TableSource;
  readonly plan: ReadPlan;
}

/** Texts of rows, which other threads read and write while they are taken, once. */
export interface RowTexts extends AsyncIterable<RowsText> {
  /** Ends the work of the threads, also if no text was taken. */
  end(): void;
}

/** Rows that other threads write, and the others. */
interface RowsOfThreads {
  readonly texts: RowTexts;
  readonly rows: ResultRows;
}

/** Threads for one query at most: a client hardly takes more. */
const THREADS_MAX = 4;
/** Memory of a thread for texts that are written, and not taken. */
const TEXT_BYTES = 5 << 20;
/** Distinct values of tags that are copied to threads, which takes up to 50 ms, and memory of one apart from its text. */
const TAG_VALUES_MAX = 1 << 17;
const TAG_VALUE_BYTES = 32;

/**
 * Lets other threads read the segments of a query that returns all its rows in any order, and write their text.
 *
 * @returns undefined if they cannot run such a query
 * @throws `NotForKernels` if the engine must run it
 */
export async function rowsOfThreads(
  read: RowRead,
  output: TextOutput,
  tagsOf: TagsOf,
  deps: KernelDeps,
  check: () => void,
): Promise<RowsOfThreads | undefined> {
  const { query, source, plan } = read;
  const { threads } = deps;
  const format = output.format.names[0];
  const written = THREAD_FORMATS.get(format);
  if (threads === undefined || !returnsAll(query) || written === undefined) return undefined;
  if (!threads.hasPlace) throw new NotNowForKernels(NO_PLACE);
  if (isMuchLate(query, source, plan.regions)) throw new NotNowForKernels('the query reads too many late rows');
  const regions = scannedRegions(query, source, plan);
  const slices = new Slices(deps.clock, { check });
  const group = await largestGroup(regions, source, deps, slices);
  const threadBytes = bytesAtOnce(group.values) + collectorBytes(group.rows, query.fields.length);
  const tags = await scannedTags(read, tagsOf, deps, slices);
  const threadCount = reservedThreads(threadBytes + tags.bytes + seriesBytes(regions) + written.bytes, deps, threads);
  // First, because the engine cannot continue a result.
  const others = new RowCollector(query, deps.memory, undefined, FAST_COLLECTED_CELLS_MAX);
  await readUnscanned(read, others, deps, check);
  const rows = await others.result(tagsOf, useOf(output));
  const scan = { query, table: source.table, regions, tags: tags.values, format, columns: output.columns };
  const sizes = { groupRows: group.rows, threadBytes };
  return { texts: await begun({ ...scan, ...sizes }, threadCount, threads, deps, check), rows };
}

function returnsAll({ newest, order, offset, limit }: RowQuery): boolean {
  return newest === undefined && order.length === 0 && offset === 0 && limit === Infinity;
}

/**
 * Returns the most rows of a row group, and values that are read of one.
 *
 * @throws `NotForKernels` for what threads would find out when some texts have been sent.
 */
async function largestGroup(
  regions: readonly ScannedRegion[],
  { table }: TableSource,
  { columns }: KernelDeps,
  slices: Slices,
): Promise<{ readonly rows: number; readonly values: number }> {
  const { id: timeId, type } = timeIndexOf(table);
  let [rows, values] = [0, 0];
  for (const { segments, fields } of regions) {
    for (const { segment, name } of segments) {
      const footer = await decoded(() => columns.footer({ path: name, bytes: segment.bytes }));
      checkUnit(footer, timeId, type);
      for (const { id } of fields) checkIntegers(footer, id);
      const groups = [...footer.rowCounts.keys()];
      rows = Math.max(rows, ...footer.rowCounts);
      values = Math.max(values, valuesOfGroup(footer, groups, fields));
      if (slices.isOver(groups.length * fields.length)) await slices.yield();
    }
  }
  return { rows, values };
}

/** Returns the memory of the series of a query in another thread. */
function seriesBytes(regions: readonly ScannedRegion[]): number {
  return regions.reduce((sum, { series: { labels, sids } }) => {
    return sum + (labels?.byteLength ?? 0) + (sids?.byteLength ?? 0);
  }, 0);
}

/** Takes memory for as many threads as there is some for. @throws `NotForKernels` if there is none */
function reservedThreads(bytes: number, { memory }: KernelDeps, { count }: Scans): number {
  const perThread = bytes + TEXT_BYTES;
  for (let some = Math.min(count, THREADS_MAX); some > 1; some--) if (memory.tryReserve(some * perThread)) return some;
  memory.reserve(perThread);
  return 1;
}

/** Starts a scan, and waits for its first text: until then, the engine can run the query. */
async function begun(
  scan: TextScan,
  threadCount: number,
  threads: Scans,
  { columns }: KernelDeps,
  check: () => void,
): Promise<RowTexts> {
  const progress = new SharedProgress();
  columns.scan = { progress, rows: scannedRows(scan) };
  const texts = threads.texts(scan, threadCount, progress, check, (counts) => {
    columns.scan = undefined;
    columns.add(counts);
  });
  const first = await texts.next();
  return {
    [Symbol.asyncIterator]: () => continued(first, texts),
    end: () => void texts.return(undefined),
  };
}

async function* continued(first: IteratorResult<RowsText>, texts: AsyncGenerator<RowsText>): AsyncGenerator<RowsText> {
  try {
    if (first.done !== true) yield first.value;
    yield* texts;
  } catch (error) {
    if (!(error instanceof NotForKernels)) throw error;
    const cause = new UnreadableSegment(error.message);
    throw new AlmanacError('storage_unavailable', `the rest of the rows cannot be read: ${error.message}`, { cause });
  }
}

/** Tags of a result for threads. */
interface ScannedTags {
  /** By column ID, for each region. */
  readonly values: ReadonlyMap<number, readonly ScannedTag[]>;
  /** Memory that each thread needs for them. */
  readonly bytes: number;
}

/** Values take as long as this many numbers. */
const TAG_WORK = 4;

/** @throws `NotForKernels` if they are too many. */
async function scannedTags(
  { query, source, plan }: RowRead,
  tagsOf: TagsOf,
  { memory }: KernelDeps,
  slices: Slices,
): Promise<ScannedTags> {
  const tags = new Map<number, ScannedTag[]>();
  let [valueCount, bytes] = [0, 0];
  for (const { id, kind } of query.columns) {
    if (kind !== 'tag' || tags.has(id)) continue;
    const ofRegions: ScannedTag[] = [];
    for (const [i, column] of (await tagsOf({ id })).entries()) {
      valueCount += column.values.length;
      if (valueCount > TAG_VALUES_MAX) throw new NotForKernels('its tags have too many values for other threads');
      const { seriesCount } = source.regions[i].view;
      const numberBytes = seriesCount * Int32Array.BYTES_PER_ELEMENT;
      memory.reserve(numberBytes);
      const numbers = new Int32Array(new SharedArrayBuffer(numberBytes));
      for (const sid of plan.regions[i].sids ?? numbers.keys()) {
        numbers[sid] = column.ofSeries(sid);
        if (slices.isOver(TAG_WORK)) await slices.yield();
      }
      // New series may have added some.
      const values = [...column.values];
      bytes += values.reduce((sum, value) => sum + 2 * value.length + TAG_VALUE_BYTES, 0);
      ofRegions.push({ numbers, values });
    }
    tags.set(id, ofRegions);
  }
  return { values: tags, bytes };
}

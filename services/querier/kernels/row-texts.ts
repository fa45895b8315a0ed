import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

import { SharedProgress } from '../columns/shared-progress.js';
import type { TableSource } from '../snapshot/snapshots.js';
import type { KernelDeps } from './deps.js';
import { NotForKernels, NotNowForKernels, type RowQuery } from './query.js';
import { readUnscanned, scannedRows, scannedRegions, type ReadPlan } from './read-source.js';
import type { ResultRows } from './result/result.js';
import { THREAD_FORMATS, useOf, type RowsText, type TextOutput } from './result/result-text.js';
import { FAST_COLLECTED_CELLS_MAX, RowCollector, type TagsOf } from './row-collector.js';
import type { ScannedTag, Scans, TextScan } from './scan.js';
import { isMuchLate } from './work.js';

/** A query of rows, and what it reads. */
export interface RowRead {
  readonly query: RowQuery;
  readonly source: TableSource;
  readonly plan: ReadPlan;
}

/** Texts of rows, which other threads read and write while they are taken. */
export interface RowTexts extends AsyncIterable<RowsText> {
  /** Ends the work of the threads, also if no text was taken. */
  end(): void;
}

/** Rows that other threads write, and the others. */
interface WrittenRows {
  readonly texts: RowTexts;
  readonly rows: ResultRows;
}

/** Memory of a thread for a query: columns of a row group, its rows, and texts that are not taken yet. */
const THREAD_BYTES = 8 << 20;
/** Distinct values of tags that are copied to threads, which takes up to 50 ms, and memory of one apart from its text. */
const TAG_VALUES_MAX = 1 << 17;
const TAG_VALUE_BYTES = 32;

/**
 * Lets other threads read the segments of a query that returns all its rows in any order, and write their text.
 *
 * @returns undefined if they cannot run such a query
 * @throws `NotForKernels` if the engine must run it
 */
export async function writeRows(
  read: RowRead,
  output: TextOutput,
  tagsOf: TagsOf,
  deps: KernelDeps,
  check: () => void,
): Promise<WrittenRows | undefined> {
  const { query, source, plan } = read;
  const { threads, memory } = deps;
  const format = output.format.names[0];
  if (threads === undefined || !returnsAll(query) || THREAD_FORMATS.get(format) !== output.format) return undefined;
  if (isMuchLate(query, source, plan.regions)) throw new NotNowForKernels('the query reads too many late rows');
  memory.reserve(threads.count * THREAD_BYTES);
  const tags = await scannedTags(read, tagsOf, deps, check);
  // First, because the engine cannot continue a result.
  const others = new RowCollector(query, memory, undefined, FAST_COLLECTED_CELLS_MAX);
  await readUnscanned(read, others, deps, check);
  const rows = await others.result(tagsOf, useOf(output));
  const regions = scannedRegions(query, source, plan);
  const scan = { query, table: source.table, regions, tags, format, columns: output.columns };
  return { texts: await begun(scan, threads, deps, check), rows };
}

function returnsAll({ newest, order, offset, limit }: RowQuery): boolean {
  return newest === undefined && order.length === 0 && offset === 0 && limit === Infinity;
}

/** Starts a scan, and waits for its first text: until then, the engine can run the query. */
async function begun(scan: TextScan, threads: Scans, { columns }: KernelDeps, check: () => void): Promise<RowTexts> {
  const progress = new SharedProgress();
  columns.scan = { progress, rows: scannedRows(scan) };
  const texts = threads.texts(scan, progress, check, (counts) => columns.add(counts));
  const first = await texts.next();
  return {
    [Symbol.asyncIterator]: () => continued(first, texts),
    end: () => {
      columns.scan = undefined;
      void texts.return(undefined);
    },
  };
}

async function* continued(first: IteratorResult<RowsText>, texts: AsyncGenerator<RowsText>): AsyncGenerator<RowsText> {
  try {
    if (first.done !== true) yield first.value;
    yield* texts;
  } catch (error) {
    if (!(error instanceof NotForKernels)) throw error;
    throw new AlmanacError('internal', `the rest of the rows cannot be read: ${error.message}`);
  }
}

/** Values take as long as this many numbers. */
const TAG_WORK = 4;

/** Returns the values of the tags of a result for threads. */
async function scannedTags(
  { query, source }: RowRead,
  tagsOf: TagsOf,
  { clock, memory, threads }: KernelDeps,
  check: () => void,
): Promise<Map<number, ScannedTag[]>> {
  const slices = new Slices(clock, { check });
  const tags = new Map<number, ScannedTag[]>();
  const threadCount = threads?.count ?? 0;
  let valueCount = 0;
  for (const { id, kind } of query.columns) {
    if (kind !== 'tag' || tags.has(id)) continue;
    const ofRegions: ScannedTag[] = [];
    for (const [i, column] of (await tagsOf({ id })).entries()) {
      const { seriesCount } = source.regions[i].view;
      memory.reserve(seriesCount * Int32Array.BYTES_PER_ELEMENT);
      const numbers = new Int32Array(new SharedArrayBuffer(seriesCount * Int32Array.BYTES_PER_ELEMENT));
      for (let sid = 0; sid < seriesCount; sid++) {
        numbers[sid] = column.ofSeries(sid);
        if (slices.isOver(TAG_WORK)) await slices.yield();
      }
      const values = [...column.values];
      valueCount += values.length;
      if (valueCount > TAG_VALUES_MAX) throw new NotForKernels('its tags have too many values for other threads');
      const valueBytes = values.reduce((sum, value) => sum + 2 * value.length + TAG_VALUE_BYTES, 0);
      memory.reserve(valueBytes * threadCount);
      ofRegions.push({ numbers, values });
    }
    tags.set(id, ofRegions);
  }
  return tags;
}

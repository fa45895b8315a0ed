import type { MessagePort } from 'node:worker_threads';

import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { invariant } from '#shared/errors/invariant';

import { QueryColumns, type ColumnCounts, type ColumnSources } from '../../columns/query-columns.js';
import { SharedProgress } from '../../columns/shared-progress.js';
import type { TagOfSeries } from '../../series/tag-column.js';
import { MergedBlocks } from '../late/merged-blocks.js';
import { QueryMemory } from '../memory.js';
import { NotNowForKernels } from '../query.js';
import { addRows } from '../read-rows.js';
import { BLOCK_CELLS, TEXT_WORK, TextBlocks, THREAD_FORMATS, useOf } from '../result/result-text.js';
import { RowCollector, type TagsOf } from '../row-collector.js';
import { RowWalk } from '../row-walk.js';
import type { Refusal, ScannedTag, TextScan } from '../scan.js';
import { timeGrid } from '../time-grid.js';
import type { ScanJob } from './scan-job.js';

/** The part of a text scan that one thread does. */
export interface TextJob extends Omit<ScanJob, 'number' | 'scan'> {
  readonly scan: TextScan;
  /** Receives a `TextReply` for each text, and sends the size of each that was taken. */
  readonly port: MessagePort;
}

/** A text, the end of the rows of a row group, or of all; or why the engine must run the query. */
export type TextReply =
  | { readonly text: Uint8Array<ArrayBuffer>; readonly rows: number }
  | 'group'
  | { readonly counts: ColumnCounts }
  | Refusal;

/** Part of a thread's memory for columns that such a query uses: others come more often. */
const VALUE_SHARE = 0.5;
/** Cells of a text. They are more than in the main thread, because each message takes as long as some hundred cells. */
const CELLS_PER_TEXT = 4 * BLOCK_CELLS;
/** Size of texts that are not taken, at which a thread waits. */
export const WAITING_BYTES = 2 << 20;

/** Does one thread's part of a text scan. @param check is called between slices; an error that it throws ends the scan. */
export async function runTextJob(
  { scan, share, progress, port }: Pick<TextJob, 'scan' | 'share' | 'progress' | 'port'>,
  sources: ColumnSources,
  clock: Clock,
  check: () => void,
): Promise<void> {
  const { query, table, regions, tags, columns, threadBytes } = scan;
  // Listens from the start: the query may end while the format is loaded.
  const sender = new TextSender(port);
  const format = await THREAD_FORMATS.get(scan.format)?.load();
  invariant(format !== undefined, `threads write ${scan.format}`);
  check();
  const output = { format, columns };
  const memory = new QueryMemory(threadBytes, () => true);
  const read = new QueryColumns(sources, new SharedProgress(progress), VALUE_SHARE);
  const deps = { columns: read, clock, memory, blocks: new MergedBlocks(sources.cache) };
  const slices = new Slices(clock, { check });
  const collected = new RowCollector(query, memory, undefined, scan.groupRows * columns.length);
  const blocks = new TextBlocks(output, CELLS_PER_TEXT);
  const tagsOf: TagsOf = ({ id }) => Promise.resolve((tags.get(id) ?? []).map(valuesOf));
  const afterGroup = async (): Promise<void> => {
    const rows = await collected.result(tagsOf, useOf(output));
    for (const { text, rows: count } of blocks.of(rows, rows.count)) {
      await sender.send(text, count);
      if (slices.isOver(TEXT_WORK * count * columns.length)) await slices.yield();
    }
    collected.clear();
    port.postMessage('group' satisfies TextReply);
  };
  const grid = timeGrid(undefined, 0n, 0n);
  for (const [i, { series, fields, segments, ranges }] of regions.entries()) {
    for (const bounds of ranges) {
      const walk = new RowWalk({ ...query, bounds }, grid, collected);
      walk.region = i;
      const part = { source: { table }, segments, parts: [], series, fields, deps, slices, share, afterGroup };
      await addRows(bounds, walk, part);
    }
  }
  port.postMessage({ counts: read.counts } satisfies TextReply);
}

function valuesOf({ numbers, values }: ScannedTag): TagOfSeries {
  return { values, ofSeries: (sid) => numbers[sid] ?? -1 };
}

/** Returns a text as bytes that have a buffer of their own. */
function ownBytes(text: string | Uint8Array): Uint8Array<ArrayBuffer> {
  if (typeof text === 'string') return new TextEncoder().encode(text);
  const { buffer, length } = text;
  return buffer instanceof ArrayBuffer && buffer.byteLength === length ? new Uint8Array(buffer) : new Uint8Array(text);
}

/** Sends texts as fast as they are taken. */
class TextSender {
  readonly #port: MessagePort;
  #waitingBytes = 0;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (takenBytes: number) => {
      this.#waitingBytes -= takenBytes;
      this.#wake?.();
    });
    port.on('close', () => {
      this.#isClosed = true;
      this.#wake?.();
    });
  }

  /** @throws `NotNowForKernels` if no texts are taken any more */
  async send(text: string | Uint8Array, rows: number): Promise<void> {
    while (this.#waitingBytes >= WAITING_BYTES && !this.#isClosed) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#isClosed) throw new NotNowForKernels('the query has ended');
    const own = ownBytes(text);
    this.#waitingBytes += own.length;
    this.#port.postMessage({ text: own, rows } satisfies TextReply, [own.buffer]);
  }
}

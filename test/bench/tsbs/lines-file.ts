import { closeSync, existsSync, mkdirSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { invariant } from '#shared/errors/invariant';
import { heldBodies, type Bodies } from '../load-job.js';
import { generate, LineEncoder, rowCount, type TsbsData, type TsbsShape } from './generator.js';

/** Change it when the generator's output changes, or stale files would be used. */
const GENERATOR_VERSION = 1;
const ROWS_PER_WRITE = 20_000;
/** More is read when it is sent. */
const HELD_BYTES_MAX = 1.5 * 2 ** 30;

/** Where the files of benchmarks live: data folders of servers, and lines that are made once. */
export const BENCH_FOLDER = join(tmpdir(), 'almanac-bench');

/** Line protocol of a whole data set in one file, and the end of each line in another (float64, one a row). */
export interface LinesFile {
  readonly linesPath: string;
  readonly endsPath: string;
}

/** Finds or makes the file for a shape; it is kept between runs, in a name that tells its parameters. */
export function ensureLinesFile(shape: TsbsShape): LinesFile {
  mkdirSync(BENCH_FOLDER, { recursive: true });
  const name = `tsbs-v${GENERATOR_VERSION}-${shape.hosts}x${shape.steps}-seed${shape.seed}`;
  const file = { linesPath: join(BENCH_FOLDER, `${name}.lp`), endsPath: join(BENCH_FOLDER, `${name}.ends`) };
  if (!existsSync(file.linesPath) || !existsSync(file.endsPath)) writeLinesFile(generate(shape), file);
  return file;
}

function writeLinesFile(data: TsbsData, file: LinesFile): void {
  const encoder = new LineEncoder(data);
  const out = new Uint8Array(encoder.bytesMax(ROWS_PER_WRITE));
  const ends = new Float64Array(ROWS_PER_WRITE);
  const rows = rowCount(data.shape);

  // Both names appear only when complete: a run that was stopped leaves nothing that a later one would trust.
  const unfinished = { linesPath: `${file.linesPath}.${process.pid}`, endsPath: `${file.endsPath}.${process.pid}` };
  const lines = openSync(unfinished.linesPath, 'w');
  const endsFile = openSync(unfinished.endsPath, 'w');
  let written = 0;
  for (let from = 0; from < rows; from += ROWS_PER_WRITE) {
    const to = Math.min(rows, from + ROWS_PER_WRITE);
    const bytes = encoder.encode(from, to, out, ends);
    for (let i = 0; i < to - from; i++) ends[i] += written;
    writeWhole(lines, out.subarray(0, bytes));
    writeWhole(endsFile, new Uint8Array(ends.buffer, 0, (to - from) * 8));
    written += bytes;
  }
  closeSync(lines);
  closeSync(endsFile);
  renameSync(unfinished.linesPath, file.linesPath);
  renameSync(unfinished.endsPath, file.endsPath);
}

function writeWhole(file: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(file, bytes, done);
}

/**
 * Rows `[from, to)` as bodies of `batch` lines. Those that fit in memory are views into one buffer, so that a loader
 * that goes through them neither copies nor parses.
 */
export function readBodies(file: LinesFile, from: number, to: number, batch: number): Bodies {
  const ends = readEnds(file);
  invariant(from < to && to <= ends.length, 'rows are outside of the lines file');
  const startOf = (row: number): number => (row === 0 ? 0 : ends[row - 1]);
  const start = startOf(from);
  const count = Math.ceil((to - from) / batch);
  const first = (index: number): number => startOf(from + index * batch);
  const last = (index: number): number => startOf(Math.min(to, from + (index + 1) * batch));
  if (startOf(to) - start > HELD_BYTES_MAX) {
    const byteLength = (index: number): number => last(index) - first(index);
    const lines = openSync(file.linesPath, 'r');
    return { count, byteLength, at: (index) => readFrom(lines, first(index), last(index)) };
  }
  const bytes = readRange(file.linesPath, start, startOf(to));
  return heldBodies(Array.from({ length: count }, (_, i) => bytes.subarray(first(i) - start, last(i) - start)));
}

/** The lines of these rows in this order, as bodies of `batch` lines. */
export function readOrdered(file: LinesFile, order: Uint32Array, batch: number): Bodies {
  const ends = readEnds(file);
  const lines = readRange(file.linesPath, 0, ends[ends.length - 1]);
  const bodies: Buffer[] = [];
  for (let at = 0; at < order.length; at += batch) {
    const rows = Array.from(order.subarray(at, at + batch));
    bodies.push(Buffer.concat(rows.map((row) => lines.subarray(row === 0 ? 0 : ends[row - 1], ends[row]))));
  }
  return heldBodies(bodies);
}

function readEnds(file: LinesFile): Float64Array {
  const bytes = readRange(file.endsPath, 0, statSync(file.endsPath).size);
  return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
}

function readRange(path: string, from: number, to: number): Buffer {
  const file = openSync(path, 'r');
  const bytes = readFrom(file, from, to);
  closeSync(file);
  return bytes;
}

function readFrom(file: number, from: number, to: number): Buffer {
  // A buffer of its own, so that its start is aligned for a Float64Array.
  const bytes = Buffer.from(new ArrayBuffer(to - from));
  let done = 0;
  while (done < bytes.length) {
    // One read call takes less than 2 GiB.
    const count = readSync(file, bytes, done, Math.min(bytes.length - done, 1 << 30), from + done);
    invariant(count > 0, 'lines file ended early');
    done += count;
  }
  return bytes;
}

import type { Problem } from '#shared/errors/problem';
import { errorCode } from '#shared/fs/node-file-system';
import type { FileSystem } from '#shared/fs/file-system';
import { describeDamage, hasTornHeader, readLogFile, type LogFileEnd } from './read-file.js';
import type { LogRecord } from './record.js';
import { listWalFiles, walFilePath } from './wal-files.js';

/** Rows of a region that follow each other in the log without a gap. */
export interface SequenceRun {
  readonly regionId: number;
  readonly epoch: number;
  /** The rows are those after this sequence. */
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
}

/** What a log contains, and what is wrong with it. */
export interface LogFacts {
  readonly folder: string;
  readonly problems: Problem[];
  /** Remarks on what looks odd but is no problem. */
  readonly notes: string[];
  /** In log order; one per region unless rows are missing in between. */
  readonly runs: SequenceRun[];
  files: number;
  records: number;
  bytes: number;
}

/** Reads the log in a folder, even while an ingester writes it. Changes nothing. */
export async function inspectLog(folder: string, fs: FileSystem): Promise<LogFacts> {
  const facts: LogFacts = { folder, problems: [], notes: [], runs: [], files: 0, records: 0, bytes: 0 };
  const numbers = await listWalFiles(fs, folder).catch((error: unknown) => {
    facts.problems.push(unreadableProblem(folder, error));
    return [];
  });
  const last = numbers.at(-1);
  let before: number | undefined;
  for (const number of numbers) {
    const path = walFilePath(folder, number);
    if (!(await inspectFile(path, number === last, fs, facts))) continue;
    if (before !== undefined && number > before + 1) {
      facts.problems.push(missingProblem(walFilePath(folder, before + 1), number - before - 1));
    }
    before = number;
  }
  return facts;
}

/** @returns whether the file is there; its owner may have deleted it since the folder was listed. */
async function inspectFile(path: string, isLast: boolean, fs: FileSystem, facts: LogFacts): Promise<boolean> {
  try {
    const bytes = await fs.size(path);
    if (bytes === undefined) return false;
    if (isLast && (await hasTornHeader({ path, bytes }, fs))) {
      facts.notes.push(
        `"${path}" is a log file without its whole header, because its process ended while creating it: the next start removes it`,
      );
      return true;
    }
    const reader = { fs, onRecord: noteRecord(facts), skipsDamaged: () => false, onProgress: () => undefined };
    const end = await readLogFile({ path, bytes, isLast }, reader);
    noteEnd({ path, bytes }, end, facts);
    facts.files++;
    facts.bytes += usedBytes(bytes, end);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    facts.problems.push(unreadableProblem(path, error));
    return true;
  }
}

/** Returns the size of a file without zeros that were written ahead. */
function usedBytes(bytes: number, end: LogFileEnd): number {
  if (end.kind === 'extended') return end.at;
  return end.kind === 'torn' ? end.at + end.bytes : bytes;
}

function noteRecord(facts: LogFacts): (record: LogRecord) => void {
  const lastRuns = new Map(facts.runs.map((run) => [run.regionId, run]));
  return ({ regionId, epoch, sequenceFrom, rowCount }) => {
    const sequenceTo = sequenceFrom + BigInt(rowCount);
    facts.records++;
    const run = lastRuns.get(regionId);
    if (run?.epoch === epoch && run.sequenceTo === sequenceFrom) {
      run.sequenceTo = sequenceTo;
      return;
    }
    const next = { regionId, epoch, sequenceFrom, sequenceTo };
    facts.runs.push(next);
    lastRuns.set(regionId, next);
  };
}

function noteEnd(file: { readonly path: string; readonly bytes: number }, end: LogFileEnd, facts: LogFacts): void {
  if (end.kind === 'whole' || end.kind === 'extended') return;
  if (end.kind === 'torn') {
    const rest = `the last ${end.bytes} bytes of "${file.path}" are no whole record`;
    const why = 'a torn write, which was never acknowledged, or damage to the last records, which may have been';
    facts.notes.push(`${rest}: ${why}; the next start cuts them off`);
    return;
  }
  facts.problems.push({
    path: file.path,
    what: describeDamage(file.bytes, end),
    lost: 'rows after that offset that are in no segment yet; the server does not start',
    remedy: 'restore the file, or start with wal.recover = "skip-corrupt" to lose the rows that cannot be read',
  });
}

function missingProblem(path: string, count: number): Problem {
  return {
    path,
    what: count === 1 ? 'is missing' : `and the ${count - 1} log files after it are missing`,
    lost: 'its rows that are in no segment yet',
    remedy: 'restore it before the next start',
  };
}

/** Returns the problem of a log, or a file of it, that cannot be read. */
export function unreadableProblem(path: string, error: unknown): Problem {
  return {
    path,
    what: `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    lost: 'its rows that are in no segment yet; the server does not start',
    remedy: 'make it readable for the user of the server, or restore it',
  };
}

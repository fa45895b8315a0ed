import type { FileSystem, OpenFile } from '#shared/fs/file-system';

const NAME = /^(\d{10})\.wal$/;
/** First bytes of every file: name and version of the format, padded so that records are aligned. */
export const FILE_HEADER = new TextEncoder().encode('ALMWAL1\n');

/** A file of the log. */
export interface WalFile {
  readonly number: number;
  readonly path: string;
  bytes: number;
  /** Time of the last write, milliseconds since 1970. */
  lastWriteMs: number;
  /** Greatest sequence of each region that has rows in the file, by region id. */
  readonly lastSequences: Map<number, bigint>;
}

/** Returns the path of the log file with this number. */
export function walFilePath(folder: string, number: number): string {
  return `${folder}/${String(number).padStart(10, '0')}.wal`;
}

/** Returns the numbers of the log files in a folder, ascending. */
export async function listWalFiles(fs: FileSystem, folder: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const name of await fs.list(folder)) {
    const match = NAME.exec(name);
    if (match !== null) numbers.push(Number(match[1]));
  }
  return numbers.sort((a, b) => a - b);
}

/**
 * Creates a file with its header; name and header are durable when this resolves.
 * @param mode `log` if records must be durable once they are written.
 */
export async function createWalFile(
  fs: FileSystem,
  folder: string,
  number: number,
  mode: 'append' | 'log',
): Promise<[WalFile, OpenFile]> {
  const path = walFilePath(folder, number);
  const file = await fs.open(path, mode);
  try {
    await file.append([FILE_HEADER]);
    if (mode === 'append') await file.syncData();
    await fs.syncFolder(folder);
  } catch (error) {
    await file.close();
    throw error;
  }
  const walFile = { number, path, bytes: FILE_HEADER.length, lastWriteMs: 0, lastSequences: new Map<number, bigint>() };
  return [walFile, file];
}

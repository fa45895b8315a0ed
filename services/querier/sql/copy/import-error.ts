import { AlmanacError } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';
import type { ConfinedFile } from '#shared/fs/confined-folder';

/** Codes of errors that a file's contents cause. */
const OF_CONTENTS: ReadonlySet<ErrorCode> = new Set([
  ...(['execute_query', 'invalid_syntax', 'invalid_arguments', 'plan_query', 'unsupported'] as const),
]);
const CSV_LINE = /CSV Error on Line: (\d+)\n(?:Original Line: )?([^]*)/;
const WRONG_COUNT = /Expected Number of Columns: (\d+) Found: (\d+)/;
const JSON_PLACE = /Malformed JSON in file .*?, at byte \d+ in (?:line|record\/value) (\d+): ([^\n]*?)\.?\s*$/m;

/** An error of one record of a file. */
export class RecordError extends Error {
  /** Starts at 1, without the line of names. */
  readonly record: number;

  constructor(record: number, cause: AlmanacError) {
    super(cause.message, { cause });
    this.record = record;
  }
}

/** Returns the error of an import with the file's name and, if it is known, the line; without advice on options of the engine. */
export function importError(thrown: unknown, { relativePath }: ConfinedFile): unknown {
  const record = thrown instanceof RecordError ? thrown.record : undefined;
  const error = thrown instanceof RecordError ? thrown.cause : thrown;
  if (!(error instanceof AlmanacError)) return error;
  const file = `file "${relativePath}"`;
  if (record !== undefined) {
    return new AlmanacError(error.code, `${file}, record ${record}: ${error.message}`, { cause: error });
  }
  const raw = error.cause instanceof Error ? error.cause.message : '';
  // The engine's message for a file that is not of the format, without its path.
  if (error.code === 'storage_unavailable' && error.message === 'stored data cannot be read') {
    return new AlmanacError('invalid_arguments', `${file} cannot be read`, { cause: error });
  }
  if (!OF_CONTENTS.has(error.code)) return error;
  const { line, reason } = reasonOf(raw) ?? { line: undefined, reason: error.message };
  const place = line === undefined ? file : `${file}, line ${line}`;
  return new AlmanacError(error.code, `${place}: ${reason}`, { cause: error });
}

/** Returns undefined for messages other than those on malformed files. */
function reasonOf(raw: string): { readonly line: string | undefined; readonly reason: string } | undefined {
  if (raw.includes('Error when sniffing file')) {
    const reason = 'the lines do not all have the same number of values with this delimiter, or a quote has no end';
    return { line: undefined, reason };
  }
  const csv = CSV_LINE.exec(raw);
  if (csv !== null) {
    const count = WRONG_COUNT.exec(csv[2]);
    if (count !== null) return { line: csv[1], reason: `it has ${count[2]} values instead of ${count[1]}` };
    if (/unterminated quote/i.test(csv[2])) return { line: csv[1], reason: 'a quote has no end' };
    if (/unicode|utf-8/i.test(csv[2])) return { line: csv[1], reason: 'the text is not UTF-8' };
    return { line: csv[1], reason: 'it cannot be read as CSV' };
  }
  const json = JSON_PLACE.exec(raw);
  if (json !== null) return { line: json[1], reason: `the JSON is malformed: ${json[2]}` };
  if (raw.includes('No magic bytes')) return { line: undefined, reason: 'it is not a Parquet file' };
  return undefined;
}

import { AlmanacError } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';

/** The engine's exception classes, by the first words of their messages. */
const CODES: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^Parser Error/, 'invalid_syntax'],
  [/^Syntax Error/, 'invalid_syntax'],
  [
    /^(Binder|Catalog|Not implemented|Parameter Not Resolved|Parameter Not Allowed|Dependency|Expression Depth) Error/i,
    'plan_query',
  ],
  [
    /^(Conversion|Out of Range|Invalid Input|Invalid type|Mismatch Type|Divide by Zero|Decimal|Constraint|Sequence) Error/i,
    'execute_query',
  ],
  [/^INTERRUPT Error/i, 'cancelled'],
  [/^Out of Memory Error|could not allocate block/i, 'resources_exhausted'],
  [/^(IO|HTTP) Error/i, 'storage_unavailable'],
  [/^Permission Error/i, 'permission_denied'],
];

const PREFIXES: Partial<Record<ErrorCode, string>> = {
  invalid_syntax: 'Invalid SQL syntax: sql parser error: ',
  plan_query: 'Failed to plan SQL: ',
};

/** Fixed texts for errors whose original message names files, settings or internal relations. */
const FIXED: Partial<Record<ErrorCode, string>> = {
  cancelled: 'query was cancelled',
  resources_exhausted: 'query needs more memory than it may use: read a shorter time range, or raise memory.limit',
  storage_unavailable: 'stored data cannot be read',
  permission_denied: 'operation is not permitted',
};

/** What the engine says of every statement after a fault of which it cannot recover. */
const INVALIDATED = 'database has been invalidated because of a previous fatal error';

/**
 * Ends the process if its engine is lost, as after any unexpected error: no query would succeed again, and recovery at the next
 * start is the tested path.
 */
function endIfLost(thrown: unknown, message: string): void {
  if (!message.includes(INVALIDATED)) return;
  queueMicrotask(() => {
    throw AlmanacError.from(thrown);
  });
}

/**
 * Translates an error of the engine. The message loses the quoted line of SQL (which is the rewritten statement), hints
 * about other objects, file paths and the names of internal relations.
 */
export function fromDuckDb(thrown: unknown): AlmanacError {
  if (thrown instanceof AlmanacError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  endIfLost(thrown, message);
  const code = CODES.find(([pattern]) => pattern.test(message))?.[1];
  if (code === undefined) return AlmanacError.from(thrown);
  const text = FIXED[code] ?? `${PREFIXES[code] ?? ''}${publicText(message)}`;
  return new AlmanacError(code, text, { cause: thrown });
}

/** Returns whether there was not enough memory. @param thrown by the engine, or its translation. */
export function isOutOfMemory(thrown: unknown): boolean {
  return fromDuckDb(thrown).code === 'resources_exhausted';
}

/** Translates a lack of memory in work of the server itself, whose other errors are no client's. */
export function namedIfOutOfMemory(thrown: unknown): unknown {
  return isOutOfMemory(thrown) ? fromDuckDb(thrown) : thrown;
}

/** Errors that a damaged or missing file may cause; values of users hardly ever cause them. */
const OF_FILES: readonly RegExp[] = [
  /^(IO|Invalid|Serialization|INTERNAL|FATAL) Error/i,
  // After a quote the message may contain a user's value, which can be anything, or the file's name.
  /^Invalid Input Error: ([^"']*(Failed to read file|magic bytes|decompress|corrupt|parquet)|.*\.parquet["'])/i,
];

/** Returns whether an error may be due to a damaged file. @param thrown by the engine, or its translation. */
export function mayBeOfFile(thrown: unknown): boolean {
  const raw = thrown instanceof AlmanacError ? thrown.cause : thrown;
  return raw instanceof Error && OF_FILES.some((pattern) => pattern.test(raw.message));
}

const MISSING_COLUMN = /^Referenced column "((?:[^"]|"")*)" (?:not found|was not found)/;
const MISSING_MEMBER = /does not have a column named "((?:[^"]|"")*)"/;
const MISSING_TABLE = /^Referenced table "((?:[^"]|"")*)" not found/;
const MISSING_FUNCTION = /^(?:Scalar|Aggregate|Table|Scalar Macro) Function with name "?([^\s"]+)"? does not exist/;
/** Messages of RE2 about patterns. */
const INVALID_PATTERN =
  /^(?:missing [\])]|unexpected \)|no argument for repetition operator|bad repetition operator|invalid (?:escape sequence|repetition size|perl operator|character class)|trailing \\|pattern too large)/;

function publicText(message: string): string {
  const body = message.replace(/^[A-Za-z ]+ Error: */, '');
  const first = body.split(/\n\s*\n|\nLINE \d+:|\nCandidate bindings|\nDid you mean|\nHint:/, 1)[0].trim();
  const column = MISSING_COLUMN.exec(first) ?? MISSING_MEMBER.exec(first);
  if (column !== null) return `No field named ${column[1]}.`;
  const table = MISSING_TABLE.exec(first);
  if (table !== null) return `No table or alias named ${table[1]}.`;
  const unknown = MISSING_FUNCTION.exec(first);
  if (unknown !== null) return `Invalid function '${unknown[1]}'.`;
  const text = INVALID_PATTERN.test(first) ? `invalid regular expression: ${first}` : first;
  return scrub(text).slice(0, 1000);
}

function scrub(text: string): string {
  return text
    .replaceAll(/(?:\/[\w.@%+-]+){2,}/g, '<path>')
    .replaceAll(/\b[\w.-]*\.parquet\b/g, '<file>')
    .replaceAll(/"?\b(?:memory\.main\."?)?(?:fresh|series)_\d+\w*"?/g, '<internal>');
}

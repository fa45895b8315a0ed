import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';

import { systemClock, type Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import { fromDuckDb } from './errors.js';

/**
 * Streams the rows of a query, and fails where the engine would only stop.
 *
 * A streaming result of the engine swallows errors: a cast error, an interrupt or a missing file ends it with an empty
 * chunk and no exception. Therefore one more row follows the query's own, marked in one more column at the end; a stream
 * that ends without that row was cut short. The order of rows is kept (the instance has `preserve_insertion_order`).
 *
 * Each chunk is valid until the next is requested. Its last column, and rows from `rowCount` on, do not belong to the query.
 *
 * @throws the reason of the signal if that is an `AlmanacError`, else `cancelled`; otherwise the translated error of the
 * engine, which is found by running the query again without streaming if the stream did not report it.
 */
export async function* streamRows(connection: DuckDBConnection, query: StreamQuery): AsyncGenerator<StreamedChunk> {
  const { sql, columnCount, signal } = query;
  throwIfAborted(signal);
  const release = interruptOnAbort(connection, signal);
  try {
    const nulls = 'NULL, '.repeat(columnCount);
    const result = await connection.stream(`SELECT *, false FROM (${sql}) UNION ALL SELECT ${nulls}true`);
    for (;;) {
      throwIfAborted(signal);
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      const isLast = chunk.getColumnVector(columnCount).getItem(chunk.rowCount - 1) === true;
      const rowCount = isLast ? chunk.rowCount - 1 : chunk.rowCount;
      if (rowCount > 0) yield { chunk, rowCount };
      if (isLast) return;
    }
    throwIfAborted(signal);
    throw await causeOf(connection, sql);
  } catch (error) {
    throwIfAborted(signal);
    throw fromDuckDb(error);
  } finally {
    release();
  }
}

/** A query to stream. */
export interface StreamQuery {
  /** A SELECT without a closing semicolon. */
  readonly sql: string;
  readonly columnCount: number;
  /** Aborting it interrupts the engine. */
  readonly signal: AbortSignal;
}

/** One chunk of a streamed result. */
export interface StreamedChunk {
  readonly chunk: DuckDBDataChunk;
  readonly rowCount: number;
}

/** Pause between interrupts. */
const INTERRUPT_MS = 50;

/**
 * Interrupts the connection when the signal aborts, repeatedly until the returned function is called: the engine ignores an
 * interrupt that arrives before it has begun the query, or between two of its steps.
 */
export function interruptOnAbort(connection: DuckDBConnection, signal: AbortSignal): () => void {
  let timer: Timer | undefined;
  const interrupt = (): void => {
    connection.interrupt();
    timer = systemClock.after(INTERRUPT_MS, interrupt);
  };
  signal.addEventListener('abort', interrupt, { once: true });
  return () => {
    signal.removeEventListener('abort', interrupt);
    timer?.cancel();
  };
}

/** Fails if the signal has aborted. @throws the signal's own `AlmanacError`, else `cancelled`. */
export function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  const reason: unknown = signal.reason;
  throw reason instanceof AlmanacError
    ? reason
    : new AlmanacError('cancelled', 'query was cancelled', { cause: reason });
}

/** The stream does not report why it ended, so the query runs again without streaming; rows are only hashed, so that every value is computed. */
async function causeOf(connection: DuckDBConnection, sql: string): Promise<AlmanacError> {
  try {
    await connection.run(`SELECT bit_xor(hash(t)) FROM (${sql}) AS t`);
  } catch (error) {
    return fromDuckDb(error);
  }
  return new AlmanacError('unexpected', 'the result ended before it was complete');
}

import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';

import { systemClock, type Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import { fromDuckDb } from './errors.js';

/**
 * Streams the rows of a query, and fails where the engine would only stop.
 *
 * A streaming result of the engine swallows errors: a cast error, an interrupt or a missing file ends it with an empty
 * chunk and no exception. So one more row follows the query's own, marked in one more column at the end; a stream that
 * ends without that row was cut short. The order of the rows is kept (the instance has `preserve_insertion_order`).
 *
 * Each chunk is valid until the next is asked for. Its last column, and rows from `rowCount` on, are not the query's.
 *
 * @throws the reason of the signal if that is an `AlmanacError`, else `cancelled`; otherwise what the engine's error
 * means, which is found by running the query again without streaming where the stream kept it to itself.
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

export interface StreamQuery {
  /** A SELECT without a closing semicolon. */
  readonly sql: string;
  readonly columnCount: number;
  /** Aborting it interrupts the engine. */
  readonly signal: AbortSignal;
}

export interface StreamedChunk {
  readonly chunk: DuckDBDataChunk;
  readonly rowCount: number;
}

/** Rest between interrupts. */
const INTERRUPT_MS = 50;

/**
 * Interrupts the connection when the signal aborts, again and again until the returned function is called: an interrupt
 * that comes before the engine has begun the query, or between two of its steps, is forgotten by it.
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

/** @throws the signal's own `AlmanacError`, else `cancelled`, if it has aborted. */
export function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  const reason: unknown = signal.reason;
  throw reason instanceof AlmanacError
    ? reason
    : new AlmanacError('cancelled', 'query was cancelled', { cause: reason });
}

/** The stream does not say why it ended; the same query without streaming does. Its rows are only hashed, so that every value is made. */
async function causeOf(connection: DuckDBConnection, sql: string): Promise<AlmanacError> {
  try {
    await connection.run(`SELECT bit_xor(hash(t)) FROM (${sql}) AS t`);
  } catch (error) {
    return fromDuckDb(error);
  }
  return new AlmanacError('execute_query', 'the result ended before it was complete');
}

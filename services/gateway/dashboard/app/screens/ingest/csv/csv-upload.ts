import { isAbort, messageOf, RequestError } from '../../../core/http.js';
import { runSql } from '../../../data/sql.js';
import { insertSql, rowSql, type CsvColumn, type RejectedRow } from './csv-columns.js';
import { isBlankRow, readCsv, type CsvFormat } from './csv-reader.js';

/** What is uploaded, and to where. */
export interface CsvUpload {
  readonly file: Blob;
  readonly format: CsvFormat;
  /** Whether the first row has names. */
  readonly hasNames: boolean;
  readonly database: string;
  readonly table: string;
  readonly columns: readonly CsvColumn[];
}

/** How far an upload is. */
export interface UploadState {
  readonly readBytes: number;
  readonly storedRows: number;
  readonly rejectedRows: number;
}

const BATCH_ROWS = 1000;
const BATCH_LENGTH = 512 * 1024;
/** Rows that are kept for the list of rejected ones. */
const REJECTED_KEPT = 100_000;
/** Attempts for rows that a busy server refuses. */
const ATTEMPTS_MAX = 10;
/** If the server has refused this many rows one by one, it will refuse the others too. */
const SERVER_REJECTED_MAX = 200;

interface BatchRow {
  readonly row: number;
  readonly cells: readonly string[];
  readonly sql: string;
}

/** Writes the rows of a file to a table. Rows that cannot be stored are kept; everything else ends the upload. */
export class CsvUploader {
  /** The first rows that were not stored. */
  readonly rejected: RejectedRow[] = [];
  readonly #upload: CsvUpload;
  readonly #signal: AbortSignal;
  readonly #onState: (state: UploadState) => void;
  readonly #insert: string;
  #batch: BatchRow[] = [];
  #batchLength = 0;
  #state: UploadState = { readBytes: 0, storedRows: 0, rejectedRows: 0 };
  #serverRejected = 0;

  constructor(upload: CsvUpload, signal: AbortSignal, onState: (state: UploadState) => void) {
    this.#upload = upload;
    this.#signal = signal;
    this.#onState = onState;
    this.#insert = insertSql(upload.table, upload.columns);
  }

  /** @throws RequestError if the server cannot take rows; RangeError if the file cannot be read; the `AbortError`. */
  async run(): Promise<void> {
    const { file, format, hasNames, columns } = this.#upload;
    let row = 0;
    let isFirst = true;
    for await (const { rows, readBytes } of readCsv(file, format)) {
      for (const cells of rows) {
        if (isBlankRow(cells)) continue;
        const isNames = isFirst && hasNames;
        isFirst = false;
        if (isNames) continue;
        row++;
        const values = rowSql(cells, columns);
        if ('sql' in values) await this.#add({ row, cells, sql: values.sql });
        else this.#reject({ row, cells, reason: values.reason });
      }
      this.#change({ readBytes });
    }
    await this.#send();
  }

  async #add(row: BatchRow): Promise<void> {
    this.#batch.push(row);
    this.#batchLength += row.sql.length;
    if (this.#batch.length >= BATCH_ROWS || this.#batchLength >= BATCH_LENGTH) await this.#send();
  }

  async #send(): Promise<void> {
    const rows = this.#batch;
    this.#batch = [];
    this.#batchLength = 0;
    if (rows.length > 0) await this.#write(rows);
  }

  /** Writes rows by one statement; if the server refuses it, by halves, until the rows that it does not take are alone. */
  async #write(rows: readonly BatchRow[]): Promise<void> {
    try {
      await this.#insertRows(rows);
      this.#change({ storedRows: this.#state.storedRows + rows.length });
    } catch (error) {
      if (isAbort(error) || !isRefusal(error) || this.#serverRejected >= SERVER_REJECTED_MAX) throw error;
      if (rows.length === 1) {
        this.#serverRejected++;
        this.#reject({ row: rows[0].row, cells: rows[0].cells, reason: messageOf(error) });
        return;
      }
      const middle = rows.length >> 1;
      await this.#write(rows.slice(0, middle));
      await this.#write(rows.slice(middle));
    }
  }

  /** Waits and repeats while the server is busy. */
  async #insertRows(rows: readonly BatchRow[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#signal.throwIfAborted();
      try {
        await runSql(this.#insert + rows.map(({ sql }) => sql).join(', '), {
          database: this.#upload.database,
          signal: this.#signal,
        });
        return;
      } catch (error) {
        if (!isBusy(error) || attempt === ATTEMPTS_MAX) throw error;
        await pause(Math.max(1, error.retryAfterSeconds ?? 1) * 1000, this.#signal);
      }
    }
  }

  #reject(row: RejectedRow): void {
    if (this.rejected.length < REJECTED_KEPT) this.rejected.push(row);
    this.#change({ rejectedRows: this.#state.rejectedRows + 1 });
  }

  #change(changes: Partial<UploadState>): void {
    this.#state = { ...this.#state, ...changes };
    this.#onState(this.#state);
  }
}

/** Codes of errors that a value can cause; others are about the user, the table or the load. */
const VALUE_CODES = new Set([1004, 2000, 3000, 3001]);

function isRefusal(error: unknown): boolean {
  return error instanceof RequestError && error.status === 400 && VALUE_CODES.has(error.code ?? 0);
}

const REGION_NOT_FOUND = 4005;

/** Whether the same request may succeed later. */
function isBusy(error: unknown): error is RequestError {
  if (!(error instanceof RequestError)) return false;
  return error.status === 429 || error.status === 503 || error.code === REGION_NOT_FOUND;
}

/** Waits until a busy server may take rows, or until the user stops the upload. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

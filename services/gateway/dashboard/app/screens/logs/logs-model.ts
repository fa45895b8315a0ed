import { computed, effect, signal, untracked } from '@preact/signals';

import { isAbort, messageOf } from '../../core/http.js';
import { retryLater } from '../../core/retry.js';
import { yieldToPage } from '../../core/yield.js';
import { database, runSql, sqlRows, quotedText } from '../../data/sql.js';
import { isRangeValid, rangeNow, pageRange, reloadCount } from '../../time/page-range.js';
import { histogramInterval, histogramOf, type Histogram } from './histogram-data.js';
import { linesOf, type LogLine } from './log-line.js';
import { histogramSql, linesSql, newestSql, type LineSelection } from './search/log-sql.js';
import { logTables, type ColumnRow, type LogTable } from './search/log-table.js';
import { isAscending, isLive, lineLimit, searchText, tableName } from './logs-state.js';
import { parseSearch, SearchError } from './search/search.js';
import { searchSql } from './search/search-sql.js';

/** Why a search failed. */
export interface SearchFailure {
  readonly message: string;
  /** Where in the search line, if that is wrong. */
  readonly at: number | undefined;
}

/** Lines that were found. */
export interface FoundLines {
  readonly lines: readonly LogLine[];
  readonly selection: LineSelection;
  readonly limit: number;
}

const COLUMNS_MAX = 20_000;
// Other parameters of the address change without another search.
const rangeKey = computed(() => `${pageRange.value.from} ${pageRange.value.to}`);
const databaseName = computed(() => database());

/** Loads what the screen shows, and keeps the last result until the next one is there. */
export class LogsModel {
  /** Undefined until they are loaded. */
  readonly tables = signal<readonly LogTable[] | undefined>(undefined);
  readonly tablesFailure = signal('');
  readonly found = signal<FoundLines | undefined>(undefined);
  readonly failure = signal<SearchFailure | undefined>(undefined);
  readonly isLoading = signal(false);
  readonly histogram = signal<Histogram | undefined>(undefined);
  readonly histogramFailure = signal('');
  /** Time of the newest line of the table, if the search found none. */
  readonly newestMs = signal<number | undefined>(undefined);
  readonly table = computed(() => {
    const tables = this.tables.value ?? [];
    return tableName.value === '' ? tables[0] : tables.find(({ name }) => name === tableName.value);
  });
  /** The search as it was sent last; undefined before that, or if it cannot be read. */
  readonly selection = signal<LineSelection | undefined>(undefined);

  #abort = new AbortController();
  /** Counts repetitions of what failed while the server was away. */
  readonly #attempts = signal(0);
  /** Failures in a row. */
  #failures = 0;
  #endRetry: () => void = () => undefined;
  readonly #stops: (() => void)[] = [];

  /** Loads now, and again whenever the address of the page names another search. */
  start(): void {
    this.#stops.push(
      effect(() => {
        void [reloadCount.value, this.#attempts.value];
        const name = databaseName.value;
        void untracked(() => this.#loadTables(name));
      }),
      effect(() => {
        void [
          reloadCount.value,
          this.#attempts.value,
          searchText.value,
          rangeKey.value,
          isAscending.value,
          lineLimit.value,
        ];
        const table = this.table.value;
        if (table === undefined || isLive.value) return;
        untracked(() => void this.#search(table));
      }),
    );
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#endRetry();
    this.#abort.abort();
  }

  /** Ends what is loading; what has arrived stays. */
  cancel(): void {
    this.#abort.abort();
    this.isLoading.value = false;
  }

  async #loadTables(name: string): Promise<void> {
    const columns = `information_schema.columns WHERE table_schema = ${quotedText(name)}`;
    // Tables of metrics, of which there may be thousands, have no texts but tags.
    const withText = `SELECT table_name FROM ${columns} AND semantic_type = 'FIELD' AND greptime_data_type IN ('String', 'Json')`;
    const statement =
      `SELECT table_name, column_name, greptime_data_type, semantic_type FROM ${columns} ` +
      `AND table_name IN (${withText}) ORDER BY table_name, ordinal_position`;
    try {
      const rows = await sqlRows<ColumnRow>(statement, { database: name, limit: COLUMNS_MAX });
      if (database() !== name) return;
      const tables = logTables(rows);
      // The search runs again only if the tables have changed.
      if (JSON.stringify(tables) !== JSON.stringify(this.tables.value)) this.tables.value = tables;
      this.tablesFailure.value = '';
    } catch (error) {
      if (isAbort(error)) return;
      this.tablesFailure.value = messageOf(error);
      this.#retryAfter(error);
    }
  }

  #retryAfter(error: unknown): void {
    this.#endRetry();
    this.#endRetry = retryLater(error, ++this.#failures, () => this.#attempts.value++);
  }

  async #search(table: LogTable): Promise<void> {
    this.#abort.abort();
    const own = new AbortController();
    this.#abort = own;
    this.failure.value = undefined;
    const selection = this.#selectionOf(table);
    this.selection.value = selection;
    if (selection === undefined) {
      // The result of the search before would look like that of this one.
      this.found.value = undefined;
      this.histogram.value = undefined;
      this.histogramFailure.value = '';
      this.isLoading.value = false;
      return;
    }
    this.isLoading.value = true;
    const limit = lineLimit.value;
    const lines = this.#loadLines(selection, limit, own.signal);
    const counts = this.#loadHistogram(selection, own.signal);
    await lines;
    if (this.#abort === own) this.isLoading.value = false;
    await counts;
  }

  #selectionOf(table: LogTable): LineSelection | undefined {
    if (!isRangeValid.value) {
      this.failure.value = {
        message: 'The time range of the address cannot be read: choose one above.',
        at: undefined,
      };
      return undefined;
    }
    try {
      const search = parseSearch(searchText.value);
      if (search !== undefined) searchSql(search, table);
      return { table, search, range: rangeNow() };
    } catch (error) {
      this.failure.value = { message: messageOf(error), at: error instanceof SearchError ? error.at : undefined };
      return undefined;
    }
  }

  async #loadLines(selection: LineSelection, limit: number, abort: AbortSignal): Promise<void> {
    try {
      const rows = await runSql(linesSql(selection, isAscending.value, limit), { signal: abort });
      const lines = await linesOf(rows, selection.table, yieldToPage);
      abort.throwIfAborted();
      this.found.value = { lines, selection, limit };
      this.#failures = 0;
      if (lines.length === 0) await this.#loadNewest(selection.table, abort);
    } catch (error) {
      if (isAbort(error) || abort.aborted) return;
      this.failure.value = { message: messageOf(error), at: undefined };
      this.#retryAfter(error);
    }
  }

  async #loadNewest(table: LogTable, abort: AbortSignal): Promise<void> {
    this.newestMs.value = undefined;
    const rows = await runSql(newestSql(table), { signal: abort });
    if (rows.rowCount > 0) rows.eachNumber(0, (ms) => (this.newestMs.value = ms ?? undefined));
  }

  async #loadHistogram(selection: LineSelection, abort: AbortSignal): Promise<void> {
    const intervalMs = histogramInterval(selection.range);
    try {
      const rows = await sqlRows<{ bucket: bigint | number; level: string; lines: bigint | number }>(
        histogramSql(selection, intervalMs),
        { signal: abort },
      );
      const counts = rows.map(({ bucket, level, lines }) => ({ bucket: Number(bucket), level, lines: Number(lines) }));
      this.histogram.value = histogramOf(counts, selection.range, intervalMs);
      this.histogramFailure.value = '';
    } catch (error) {
      if (!isAbort(error) && !abort.aborted) this.histogramFailure.value = messageOf(error);
    }
  }
}

import { signal } from '@preact/signals';

import { bodyTexts, isAbort, messageOf, request, RequestError } from '../../../core/http.js';
import { database } from '../../../data/sql.js';
import { EventStreamReader } from './event-stream.js';
import { LineKeys, lineOfJson, type LogLine } from '../log-line.js';
import type { LogTable } from '../search/log-table.js';
import type { TailSearch } from '../search/tail-search.js';
import { TailSampler } from './tail-sampler.js';

/** Lines that are kept. */
export const KEPT_MAX = 10_000;
const DRAW_MS = 150;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 30_000;

/** The newest lines of a table, as they are written. */
export class LiveTail {
  /** The oldest first. */
  readonly lines = signal<readonly LogLine[]>([]);
  /** Lines that have arrived since the user left the end of the list. */
  readonly newCount = signal(0);
  readonly perSecond = signal(0);
  readonly isSampling = signal(false);
  /** Lines that the server did not send, as there were too many. */
  readonly skippedCount = signal(0);
  readonly failure = signal('');
  readonly isConnected = signal(false);
  readonly isFollowing = signal(true);

  readonly #table: LogTable;
  readonly #search: TailSearch;
  readonly #abort = new AbortController();
  readonly #reader = new EventStreamReader();
  readonly #sampler = new TailSampler();
  readonly #keys = new LineKeys();
  #arrived: LogLine[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(table: LogTable, search: TailSearch) {
    this.#table = table;
    this.#search = search;
  }

  start(): void {
    this.#timer = setInterval(() => this.#draw(), DRAW_MS);
    void this.#run();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#abort.abort();
  }

  /** Sets whether new lines are shown at once, or counted until the user returns to the end. */
  follow(isFollowing: boolean): void {
    this.isFollowing.value = isFollowing;
    this.#draw();
  }

  async #run(): Promise<void> {
    const { signal: stopped } = this.#abort;
    let waitMs = RETRY_MS_MIN;
    while (!stopped.aborted) {
      try {
        await this.#read();
        waitMs = RETRY_MS_MIN;
        this.failure.value = '';
      } catch (error) {
        if (isAbort(error) || stopped.aborted) return;
        this.failure.value = messageOf(error);
        const isFinal = error instanceof RequestError && error.status >= 400 && error.retryAfterSeconds === undefined;
        if (isFinal) return this.stop();
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
      } finally {
        this.isConnected.value = false;
      }
    }
  }

  /** Reads until the server ends the stream, which it does after an hour. */
  async #read(): Promise<void> {
    const { where, search } = this.#search;
    const parameters = new URLSearchParams({ db: database(), table: this.#table.name });
    for (const condition of where) parameters.append('where', condition);
    if (search !== '') parameters.set('search', search);
    const { lastId } = this.#reader;
    const response = await request('v1/logs/tail', {
      parameters,
      headers: lastId === '' ? {} : { 'last-event-id': lastId },
      signal: this.#abort.signal,
    });
    this.isConnected.value = true;
    this.failure.value = '';
    for await (const text of bodyTexts(response)) {
      for (const { name, data } of this.#reader.take(text)) this.#take(name, data);
    }
  }

  #take(name: string, data: string): void {
    if (name === 'skipped') {
      this.skippedCount.value += (JSON.parse(data) as { readonly rows: number }).rows;
      return;
    }
    const { accepts } = this.#search;
    // Where the server checks everything, lines that are not shown need not be parsed.
    if (accepts === undefined) {
      if (this.#sampler.take(performance.now())) this.#arrived.push(lineOfJson(data, this.#table, this.#keys));
      return;
    }
    const line = lineOfJson(data, this.#table, this.#keys);
    if (accepts(line) && this.#sampler.take(performance.now())) this.#arrived.push(line);
  }

  #draw(): void {
    this.#sampler.advance(performance.now());
    this.perSecond.value = this.#sampler.perSecond;
    this.isSampling.value = this.#sampler.isSampling;
    if (this.#arrived.length > KEPT_MAX) this.#arrived = this.#arrived.slice(-KEPT_MAX);
    if (this.isFollowing.value && this.#arrived.length > 0) {
      this.lines.value = [...this.lines.value, ...this.#arrived].slice(-KEPT_MAX);
      this.#arrived = [];
    }
    this.newCount.value = this.#arrived.length;
  }
}

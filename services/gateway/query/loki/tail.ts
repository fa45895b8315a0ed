import { sectionValues } from '#shared/config/schema';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { findLines } from '../../logql/find-lines.js';
import type { PipelineLine } from '../../logql/line/pipeline-line.js';
import { RowReader, rowColumnsSql, type LogSource } from '../../logql/source/log-rows.js';
import { pushDown } from '../../logql/source/push-down.js';
import { compileStages } from '../../logql/stages/pipeline.js';
import type { LogQuery } from '../../logql/syntax/ast.js';
import { parseLogQuery } from '../../logql/syntax/parse.js';
import type { MessageSink, SocketRoute } from '../../socket-route.js';
import { formOf } from '../prom-form.js';
import type { SqlRow } from '../sql-rows.js';
import { DeliveredRows, TailFeed, type TailRows } from '../tail/feed.js';
import type { TailSlots } from '../tail/slots.js';
import { LOKI_BASES, LOKI_QUERY_SECTION } from './index.js';
import { lineLimit, lokiRange, requiredQuery, wholeParameter } from './parameters.js';
import { lokiFailure, lokiRequest, type LokiDeps, type LokiRequest } from './request.js';
import { StreamsJson } from './result-json.js';

/** What a client requests of a tail. */
interface LokiTail {
  readonly query: LogQuery;
  readonly startNs: bigint;
  readonly limit: number;
  readonly delayMs: number;
}

const DELAY_SECONDS_MAX = 5;
const DROPPED_MAX = 100;
const TIME_NS_MAX = 2n ** 63n - 1n;

/** Reads the parameters of `tail`. @throws `invalid_arguments`, `invalid_syntax`. */
function lokiTail({ form, nowNs, limits }: LokiRequest): LokiTail {
  const query = parseLogQuery(requiredQuery(form));
  compileStages(query.stages);
  const delay = wholeParameter(form, 'delay_for', 0);
  if (delay > DELAY_SECONDS_MAX) {
    throw new AlmanacError('invalid_arguments', `delay_for can't be greater than ${DELAY_SECONDS_MAX}`);
  }
  const { startNs } = lokiRange(form, nowNs);
  return { query, startNs, limit: lineLimit(form, limits.maxEntries), delayMs: delay * 1_000 };
}

/** Sends lines as they are written, until the call ends. @throws the error that ends it. */
async function runLokiTail(tail: LokiTail, sink: MessageSink, request: LokiRequest, deps: LokiDeps): Promise<void> {
  const { call, database, context } = request;
  const { querier, clock } = deps;
  const feed = new TailFeed({ querier, clock, database, call, currentRights: () => context.currentRights() });
  const messages = new TailMessages(sink, tail, deps.clock);
  const first = await request.source();
  if (first !== undefined) {
    await feed.begin(`SELECT ${quoteName(first.table.timeColumn)} FROM ${quoteName(first.table.name)}`);
    await sendHistory(tail, first, messages);
  }
  // Lines that were written after the feed began may be in the history too.
  let mayRepeat = first !== undefined;
  while (!deps.gate.isDraining) {
    let source = await request.source();
    if (source === undefined) {
      await deps.clock.sleep(TABLE_POLL_MS, call.signal);
      if (call.signal.aborted) return;
      continue;
    }
    const read = await feed.next(async () => {
      source = (await request.source()) ?? source!;
      return tailSql(tail, source);
    });
    messages.add(sorted(read), source, mayRepeat || read.mayRepeat);
    mayRepeat = false;
    messages.flush();
  }
}

const TABLE_POLL_MS = 200;

function tailSql({ query }: LokiTail, { table }: LogSource): string {
  const { conditions } = pushDown(query, table);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${rowColumnsSql(table, 0n)} FROM ${quoteName(table.name)}${where}`;
}

/** Sorts rows by time, which is an integer of either type. */
function sorted(read: TailRows): TailRows {
  const time = ([value]: SqlRow): number | bigint => value as number | bigint;
  const rows = [...read.rows].sort((a, b) => (time(a) < time(b) ? -1 : Number(time(a) > time(b))));
  return { ...read, rows };
}

async function sendHistory(tail: LokiTail, source: LogSource, messages: TailMessages): Promise<void> {
  const { query, startNs, limit } = tail;
  const held: { timeNs: bigint; text: string; labels: [string, string][] }[] = [];
  const search = { query, fromNs: startNs, toNs: TIME_NS_MAX, isForward: false, limit };
  await findLines(search, source, ({ timeNs, text, labels }) => {
    held.push({ timeNs, text, labels: labels.sorted() });
    return true;
  });
  messages.addHeld(held.reverse());
}

interface Dropped {
  readonly labels: Readonly<Record<string, string>>;
  readonly timestamp: string;
}

interface HeldMessage {
  readonly readyMs: number;
  readonly streams: StreamsJson;
}

/** Lines on their way to a client. */
class TailMessages {
  readonly #sink: MessageSink;
  readonly #tail: LokiTail;
  readonly #clock: LokiDeps['clock'];
  readonly #delivered = new DeliveredRows();
  readonly #dropped: Dropped[] = [];
  #held: HeldMessage[] = [];

  constructor(sink: MessageSink, tail: LokiTail, clock: LokiDeps['clock']) {
    this.#sink = sink;
    this.#tail = tail;
    this.#clock = clock;
  }

  /** Sends the lines that were there before. */
  addHeld(lines: readonly { timeNs: bigint; text: string; labels: [string, string][] }[]): void {
    const streams = new StreamsJson(false);
    for (const { timeNs, text, labels } of lines) {
      this.#delivered.isRepeated(keyOf(timeNs, text, labels), false);
      streams.addEntry(labels, { timeNs, text });
    }
    if (streams.count > 0) this.#sink.send(`{"streams":${streams.text()}}`);
  }

  /** Runs the stages over rows, and holds the lines that pass. */
  add({ rows, skipped }: TailRows, source: LogSource, mayRepeat: boolean): void {
    const stages = compileStages(pushDown(this.#tail.query, source.table).stages);
    const reader = new RowReader(source.table, 0n);
    const streams = new StreamsJson(false);
    this.#delivered.beginRead();
    for (const row of rows) {
      const line = reader.read(row);
      if (!stages.every((stage) => stage(line))) continue;
      if (this.#delivered.isRepeated(keyOf(line.timeNs, line.text, line.labels.sorted()), mayRepeat)) continue;
      if (this.#sink.isFull) this.#drop(line);
      else streams.add(line);
    }
    for (const row of skipped) {
      const line = reader.read(row);
      if (stages.every((stage) => stage(line))) this.#drop(line);
    }
    if (streams.count > 0) this.#held.push({ readyMs: this.#clock.monotonicMs() + this.#tail.delayMs, streams });
  }

  /** Sends what is due. */
  flush(): void {
    const nowMs = this.#clock.monotonicMs();
    const due = this.#held.filter(({ readyMs }) => readyMs <= nowMs);
    this.#held = this.#held.filter(({ readyMs }) => readyMs > nowMs);
    for (const { streams } of due) this.#sink.send(`{"streams":${streams.text()}}`);
    if (this.#dropped.length === 0 || this.#sink.isFull) return;
    this.#sink.send(`{"streams":[],"dropped_entries":${JSON.stringify(this.#dropped.splice(0))}}`);
  }

  #drop(line: PipelineLine): void {
    if (this.#dropped.length >= DROPPED_MAX) return;
    this.#dropped.push({ labels: Object.fromEntries(line.labels.sorted()), timestamp: String(line.timeNs) });
  }
}

function keyOf(timeNs: bigint, text: string, labels: readonly (readonly [string, string])[]): string {
  return `${timeNs} ${JSON.stringify(labels)} ${text}`;
}

/** Returns the paths of `tail`, which serve WebSockets. */
export function lokiTailRoutes(deps: LokiDeps, slots: TailSlots): readonly SocketRoute[] {
  if (!sectionValues(deps.config, LOKI_QUERY_SECTION).enable) return [];
  return LOKI_BASES.map((base) => ({
    path: `${base}/tail`,
    failure: lokiFailure,
    async open(context) {
      const call = context.call(0);
      await deps.gate.check(call);
      const request = lokiRequest(context, formOf(context, undefined), call, deps);
      const tail = lokiTail(request);
      // Unknown databases and tables without lines are errors before the upgrade.
      await request.source();
      const free = slots.take();
      return (sink) => runLokiTail(tail, sink, request, deps).finally(free);
    },
  }));
}

/** `GET tail` without an upgrade. */
export function tailWithoutUpgrade(): never {
  throw new AlmanacError(
    'invalid_arguments',
    'a tail is a WebSocket: send the headers Connection: Upgrade and Upgrade: websocket',
  );
}

import { once } from 'node:events';

import { callError, type Call } from '#shared/contracts/call';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { TailPositions } from '#shared/contracts/gen/querier';

import { send } from '../../reply.js';
import type { Handler, RequestContext } from '../../request-context.js';
import { PromForm } from '../prom-form.js';
import { sqlFailure } from '../sql.js';
import { DeliveredRows, TailFeed } from '../tail/feed.js';
import type { TailSlots } from '../tail/slots.js';
import { logsRequest, logsTables, type LogsDeps, type LogsRequest, type LogsTable } from './request.js';
import { rowJson } from './rows.js';

/** A tail ends after this time; clients continue with the position of the last event. */
const TAIL_MS_MAX = 3_600_000;
const HEARTBEAT_MS = 10_000;
/** A client that takes nothing for this time is disconnected. */
const STALL_MS = 20_000;
const REGIONS_MAX = 1_024;
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/** `GET /v1/logs/tail`: rows as they are written, as server-sent events. */
export function logsTailHandler(deps: LogsDeps, slots: TailSlots): Handler {
  return async (context) => {
    let free: (() => void) | undefined;
    try {
      const call = context.call(TAIL_MS_MAX);
      await deps.gate.check(call);
      context.request.resume();
      const request = logsRequest(context, new PromForm(context.query, new URLSearchParams()), call);
      const target = await oneTable(request, deps);
      const from = positionsOf(context);
      free = slots.take();
      await new LogsTail(request, deps).run(target, from);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      deps.log.failure(context, error);
      if (!context.response.headersSent) return send(context, sqlFailure(context, error));
      // An hour is the regular end of a tail.
      if (error.code === 'deadline_exceeded') context.response.end();
      else context.response.destroy();
    } finally {
      free?.();
    }
  };
}

/** Returns the table of a tail. @throws `invalid_arguments` if the request does not determine one. */
async function oneTable(request: LogsRequest, deps: LogsDeps): Promise<LogsTable> {
  const targets = await logsTables(request, deps);
  if (targets.length === 1) return targets[0];
  const text = targets.length === 0 ? 'there is no table of logs yet' : 'there are several tables of logs';
  throw new AlmanacError('invalid_arguments', `${text}: name one by "table"`);
}

class LogsTail {
  readonly #request: LogsRequest;
  readonly #deps: LogsDeps;
  readonly #delivered = new DeliveredRows();
  #sentMs = 0;

  constructor(request: LogsRequest, deps: LogsDeps) {
    this.#request = request;
    this.#deps = deps;
  }

  async run(first: LogsTable, from: TailPositions | undefined): Promise<void> {
    const { context, call, database } = this.#request;
    const { gate, clock, querier } = this.#deps;
    let target = first;
    const feed = new TailFeed({ querier, clock, database, call, currentRights: () => context.currentRights() }, from);
    if (from === undefined) {
      await feed.begin(`SELECT ${quoteName(first.timeColumn)} FROM ${quoteName(first.table.name)}`);
    }
    context.database = database;
    context.response.writeHead(200, { ...context.commonHeaders, ...HEADERS });
    await this.#write(`id: ${idOf(feed.positions)}\n: connected\n\n`, call);
    while (!gate.isDraining) {
      const { rows, skippedCount, mayRepeat } = await feed.next(async () => {
        target = await oneTable(this.#request, this.#deps);
        return tailSql(target);
      });
      let text = '';
      const timed = rows.map((row) => rowJson(row, target, undefined));
      this.#delivered.beginRead();
      timed.sort((a, b) => Number(a.timeNs - b.timeNs));
      for (const [i, { json }] of timed.entries()) {
        if (this.#delivered.isRepeated(json, mayRepeat)) continue;
        // Only the last event of a read has its position: a client that missed some of them gets all again.
        text += `${i === timed.length - 1 ? `id: ${idOf(feed.positions)}\n` : ''}data: ${json}\n\n`;
      }
      if (skippedCount > 0) text += `event: skipped\ndata: {"rows":${skippedCount}}\n\n`;
      if (text !== '') await this.#write(text, call);
      else if (clock.monotonicMs() - this.#sentMs >= HEARTBEAT_MS) await this.#write(': heartbeat\n\n', call);
    }
    context.response.end();
  }

  /** Sends text, no faster than the client reads it. @throws `cancelled` if it stops reading. */
  async #write(text: string, call: Call): Promise<void> {
    this.#sentMs = this.#deps.clock.monotonicMs();
    const { context } = this.#request;
    if (context.response.write(text)) return;
    const stall = context.endsIn(STALL_MS, () => {
      return new AlmanacError('cancelled', `the client took nothing of the tail for ${STALL_MS / 1_000} s`);
    });
    try {
      await once(context.response, 'drain', { signal: call.signal });
    } catch (error) {
      throw call.signal.aborted ? callError(call.signal) : AlmanacError.from(error);
    } finally {
      stall.cancel();
    }
  }
}

function tailSql({ table, columns, conditions }: LogsTable): string {
  const [time, ...others] = columns.map(quoteName);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${[`epoch_ns(${time})`, ...others].join(', ')} FROM ${quoteName(table.name)}${where}`;
}

/** Returns positions as the ID of an event: `region:sequence,..`. */
function idOf({ regions }: TailPositions): string {
  return regions.map(({ regionId, sequence }) => `${regionId}:${sequence}`).join(',');
}

/** Reads where the client continues; undefined if it begins. @throws `invalid_arguments`. */
function positionsOf({ request, query }: RequestContext): TailPositions | undefined {
  const text = (request.headers['last-event-id'] as string | undefined) ?? query.get('last_event_id') ?? '';
  if (text === '') return undefined;
  const parts = text.split(',');
  if (parts.length > REGIONS_MAX || !parts.every((part) => /^\d{1,9}:\d{1,18}$/.test(part))) {
    throw new AlmanacError('invalid_arguments', 'Last-Event-ID is not the ID of an event of this path');
  }
  const regions = parts
    .map((part) => part.split(':'))
    .map(([id, sequence]) => ({ regionId: Number(id), sequence: BigInt(sequence) }));
  return { regions, mayRepeat: false };
}

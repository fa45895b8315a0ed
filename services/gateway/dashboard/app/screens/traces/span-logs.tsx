import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { groupBy } from '../../core/group-by.js';
import { isAbort, messageOf } from '../../core/http.js';
import { linkTo } from '../../core/route.js';
import { database, quotedText, sqlRows } from '../../data/sql.js';
import { countText } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import type { TimeRange } from '../../time/range.js';
import { zone } from '../../time/zones.js';
import { traceLogs } from './jaeger.js';
import { tagText } from './span-search.js';
import type { SpanNode, SpanTree } from './span-tree.js';

/** Lines may be written a little before or after the spans. */
const MARGIN_MS = 60_000;
const TABLES_MAX = 5;
const LINE_COLUMNS = ['line', 'body', 'message', 'msg', 'log', 'event'];

interface LogTable {
  readonly table: string;
  readonly timeColumn: string;
  /** The condition of `/v1/logs`. */
  readonly condition: string;
  /** The same in the search line of Logs. */
  readonly search: string;
  /** Where the ID of the span is. */
  readonly spanField: string;
}

interface SpanLine {
  readonly time: string;
  readonly text: string;
  readonly spanId: string;
  readonly table: LogTable;
}

/** The lines of logs that have the ID of the trace: those of the span, or all. */
export function SpanLogs({ tree, node }: { readonly tree: SpanTree; readonly node: SpanNode }) {
  const lines = useSignal<readonly SpanLine[] | undefined>(undefined);
  const failure = useSignal('');
  const isWhole = useSignal(false);
  const name = database();
  const range = { fromMs: tree.startUs / 1000 - MARGIN_MS, toMs: tree.endUs / 1000 + MARGIN_MS };
  useEffect(() => {
    const abort = new AbortController();
    loadLines(tree.traceId, range, abort.signal).then(
      (loaded) => (lines.value = loaded),
      (error: unknown) => {
        if (!isAbort(error)) failure.value = messageOf(error);
      },
    );
    return () => abort.abort();
  }, [tree, name]);
  if (failure.value !== '') {
    return (
      <p class="error" role="alert">
        {failure}
      </p>
    );
  }
  if (lines.value === undefined) return <p class="dim">Loading…</p>;
  const own = lines.value.filter(({ spanId }) => spanId === node.span.spanID);
  const shown = isWhole.value ? lines.value : own;
  const tables = [...new Map(lines.value.map(({ table }) => [table.table, table])).values()];
  return (
    <div class="stack">
      <div class="row">
        <label class="check">
          <input
            type="checkbox"
            checked={isWhole.value}
            onChange={({ currentTarget }) => (isWhole.value = currentTarget.checked)}
          />
          All lines of the trace ({countText(lines.value.length)})
        </label>
        {tables.map(({ table, search }) => (
          <a
            key={table}
            href={linkTo('logs', {
              t: table,
              s: search,
              from: String(Math.floor(range.fromMs)),
              to: String(Math.ceil(range.toMs)),
            })}
          >
            Open in Logs: {table}
          </a>
        ))}
      </div>
      {shown.length === 0 && (
        <p class="dim">
          {lines.value.length === 0 ? 'No line has the ID of this trace.' : 'No line has the ID of this span.'}
        </p>
      )}
      <ol class="span-lines mono">
        {shown.map(({ time, text, spanId }, i) => (
          <li key={i} class={isWhole.value && spanId === node.span.spanID ? 'own' : ''}>
            <time class="dim">{civilText(civilOf(Date.parse(time), zone.value), 3)}</time>{' '}
            <bdi>{text.slice(0, 2000)}</bdi>
          </li>
        ))}
      </ol>
    </div>
  );
}

async function loadLines(traceId: string, range: TimeRange, signal: AbortSignal): Promise<SpanLine[]> {
  const tables = await logTables(traceId, signal);
  const parts = await Promise.all(
    tables.map(async (table) => (await traceLogs(table, range, signal)).map((row) => lineOf(row, table))),
  );
  return parts.flat().sort((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)));
}

/** Returns the tables with a column for the ID of a trace, and those of Loki, where it is in the metadata. */
async function logTables(traceId: string, signal: AbortSignal): Promise<LogTable[]> {
  const columns = await sqlRows<{ table_name: string; column_name: string; semantic_type: string }>(
    'SELECT table_name, column_name, semantic_type FROM information_schema.columns ' +
      `WHERE table_schema = ${quotedText(database())} AND (semantic_type = 'TIMESTAMP' OR column_name IN ` +
      "('trace_id', 'parent_span_id', 'structured_metadata'))",
    { signal },
  );
  const byTable = groupBy(columns, (row) => row.table_name);
  const found = [...byTable].flatMap(([table, rows]): LogTable[] => {
    const names = new Set(rows.map(({ column_name: name }) => name));
    const timeColumn = rows.find(({ semantic_type: role }) => role === 'TIMESTAMP')?.column_name;
    if (timeColumn === undefined || names.has('parent_span_id')) return [];
    const prefix = names.has('trace_id') ? '' : names.has('structured_metadata') ? 'structured_metadata.' : undefined;
    if (prefix === undefined) return [];
    const search = `${prefix}trace_id=${traceId}`;
    return [{ table, timeColumn, condition: search, search, spanField: prefix }];
  });
  return found.slice(0, TABLES_MAX);
}

function lineOf(row: Readonly<Record<string, unknown>>, table: LogTable): SpanLine {
  const line = LINE_COLUMNS.map((name) => row[name]).find((value) => value !== undefined);
  const metadata = row['structured_metadata'] as Readonly<Record<string, unknown>> | undefined;
  const spanId = table.spanField === '' ? row['span_id'] : metadata?.['span_id'];
  return {
    time: tagText(row[table.timeColumn]),
    text: line === undefined ? JSON.stringify(row) : tagText(line),
    spanId: tagText(spanId ?? ''),
    table,
  };
}

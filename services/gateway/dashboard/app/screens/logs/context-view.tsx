import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { isAbort, messageOf, request } from '../../core/http.js';
import { database } from '../../data/sql.js';
import { reloadCount } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { LineRow } from './line-row.js';
import { LineKeys, lineOfJson, type LogLine } from './log-line.js';
import type { LogTable } from './search/log-table.js';
import { nanosecondText } from '../../time/nanosecond-text.js';
import { openContext, type LineContext } from './logs-state.js';

const STEP = 20;
/** The server returns no more around a line. */
const LINES_MAX = 1000;

interface ContextViewProps {
  readonly context: LineContext;
  readonly table: LogTable;
}

/** The lines before and after a line in its stream. */
export function ContextView({ context, table }: ContextViewProps) {
  const before = useSignal(STEP);
  const after = useSignal(STEP);
  const lines = useSignal<readonly LogLine[] | undefined>(undefined);
  const failure = useSignal('');
  const open = useSignal('');
  const place = useRef<number | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const streamKey = JSON.stringify(context);
  useEffect(() => {
    const abort = new AbortController();
    loadContext(context, table, { before: before.value, after: after.value }, abort.signal).then(
      (loaded) => {
        place.current = currentLine(box.current)?.getBoundingClientRect().top;
        failure.value = '';
        lines.value = loaded;
      },
      (error: unknown) => {
        if (!isAbort(error)) failure.value = messageOf(error);
      },
    );
    return () => abort.abort();
  }, [streamKey, before.value, after.value, reloadCount.value]);
  useLayoutEffect(() => {
    const line = currentLine(box.current);
    if (line === undefined || box.current === null) return;
    // The line stays where it was when more lines are loaded before it; at first it is in the middle.
    const middle = box.current.getBoundingClientRect().top + box.current.clientHeight / 2;
    box.current.scrollTop += line.getBoundingClientRect().top - (place.current ?? middle);
  }, [lines.value]);
  const all = lines.value ?? [];
  const isCurrent = (line: LogLine): boolean => String(line.timeNs) === context.timeNs;
  const beforeCount = all.findIndex(isCurrent);
  const afterCount = all.length - 1 - all.findLastIndex(isCurrent);
  return (
    <section class="context" aria-label="Context of a line">
      <div class="row">
        <h2>Context of {nanosecondText(BigInt(context.timeNs), zone.value, 3)}</h2>
        <bdi class="dim context-stream">
          {context.stream.map(([name, value]) => `${name}=${value}`).join(' ') || 'all lines of the table'}
        </bdi>
        <span class="grow" />
        <button type="button" onClick={() => openContext(undefined)}>
          Back to the search
        </button>
      </div>
      {failure.value !== '' && (
        <p class="error" role="alert">
          {failure}
        </p>
      )}
      {lines.value === undefined && failure.value === '' && <p class="loading">Loading…</p>}
      {lines.value !== undefined && beforeCount < 0 && <p class="empty">The line is no longer there.</p>}
      <div class="context-lines" ref={box} tabIndex={0} role="region" aria-label="Lines around it">
        <MoreButton what="before" shown={before.value} found={beforeCount} onMore={(count) => (before.value = count)} />
        <div role="list" aria-label="Lines">
          {all.map((line, index) => (
            <LineRow
              key={line.key}
              line={line}
              table={table}
              repeats={0}
              index={index}
              count={all.length}
              marks={NO_MARKS}
              isOpen={open.value === line.key}
              isActive
              isCurrent={isCurrent(line)}
              onToggle={() => (open.value = open.value === line.key ? '' : line.key)}
            />
          ))}
        </div>
        <MoreButton what="after" shown={after.value} found={afterCount} onMore={(count) => (after.value = count)} />
      </div>
    </section>
  );
}

const NO_MARKS: readonly RegExp[] = [];

interface MoreProps {
  readonly what: 'before' | 'after';
  readonly shown: number;
  readonly found: number;
  readonly onMore: (count: number) => void;
}

function MoreButton({ what, shown, found, onMore }: MoreProps) {
  if (found < 0) return null;
  if (found < shown) return <p class="dim context-edge">No more lines {what}</p>;
  if (shown >= LINES_MAX) return <p class="dim context-edge">More than {LINES_MAX} lines are not shown</p>;
  return (
    <button type="button" class="plain context-edge" onClick={() => onMore(Math.min(LINES_MAX, shown + STEP))}>
      {STEP} more {what}
    </button>
  );
}

function currentLine(box: HTMLElement | null): HTMLElement | undefined {
  return box?.querySelector<HTMLElement>('[aria-current="true"]') ?? undefined;
}

async function loadContext(
  { timeNs, stream }: LineContext,
  table: LogTable,
  counts: { readonly before: number; readonly after: number },
  signal: AbortSignal,
): Promise<LogLine[]> {
  const parameters = new URLSearchParams({ db: database(), table: table.name, at: timeNs, format: 'ndjson' });
  parameters.set('before', String(counts.before));
  parameters.set('after', String(counts.after));
  // The server would read an operator in a name as the end of it.
  for (const [name, value] of stream) if (!/[=!<>~]/.test(name)) parameters.append('where', `${name}=${value}`);
  const response = await request('v1/logs', { parameters, signal });
  const text = await response.text();
  const keys = new LineKeys();
  return text.split('\n').flatMap((json) => (json === '' ? [] : [lineOfJson(json, table, keys)]));
}

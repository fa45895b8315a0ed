import { useSignal } from '@preact/signals';
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { hasLetterKeys } from '../../shell/keys.js';
import { VirtualList, type VirtualListControl } from '../../widgets/virtual-list.js';
import { lineJson } from './line-details.js';
import { LineRow, LineText } from './line-row.js';
import { markPatterns } from './line-segments.js';
import { withoutRepeats, type CountedLine, type LogLine } from './log-line.js';
import type { LogTable } from './search/log-table.js';
import { isWrapped, joinsRepeats, openKey } from './logs-state.js';
import type { SearchNode } from './search/search.js';

const ROW_PX = 24;

interface LinesViewProps {
  readonly lines: readonly LogLine[];
  readonly table: LogTable;
  readonly search: SearchNode | undefined;
  /** Whether lines are shown as JSON. */
  readonly isJson: boolean;
  /** A new value scrolls to the first line. */
  readonly topKey?: string;
  readonly isFollowing?: boolean;
  readonly onFollowing?: (isFollowing: boolean) => void;
}

/** Lines below each other. */
export function LinesView({ lines, table, search, isJson, ...list }: LinesViewProps) {
  const marks = useMemo(() => markPatterns(search, table.lineColumn), [search, table]);
  const rows = useMemo(
    () => (joinsRepeats.value ? withoutRepeats(lines) : lines.map((line) => ({ line, repeats: 0 }))),
    [lines, joinsRepeats.value],
  );
  const keyOf = useCallback((index: number) => rows[index].line.key, [rows]);
  const active = useSignal(0);
  const isFocusWanted = useRef(false);
  const control = useRef<VirtualListControl | undefined>(undefined);
  const toggle = (line: LogLine): void => {
    active.value = rows.findIndex((row) => row.line === line);
    setParameters({ row: openKey.value === line.key ? undefined : line.key }, { replaces: true });
  };
  const moveTo = (index: number): void => {
    if (rows.length === 0) return;
    active.value = Math.max(0, Math.min(rows.length - 1, index));
    isFocusWanted.current = true;
    control.current?.scrollTo(active.value);
    focusLine(active.value);
  };
  useEffect(() => {
    // The row may not have been in the document before it was scrolled to.
    if (isFocusWanted.current && focusLine(active.value)) isFocusWanted.current = false;
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = keyTarget(event, active.value, rows);
    if (target === undefined) return;
    event.preventDefault();
    moveTo(target);
  };
  return (
    <VirtualList
      label="Lines"
      count={rows.length}
      estimatePx={ROW_PX}
      keyOf={keyOf}
      isWrapped={isWrapped.value}
      control={control}
      onKeyDown={onKeyDown}
      {...list}
      row={(index) => {
        const { line, repeats } = rows[index];
        if (isJson) return <JsonRow line={line} table={table} marks={marks} index={index} count={rows.length} />;
        return (
          <LineRow
            line={line}
            table={table}
            repeats={repeats}
            index={index}
            count={rows.length}
            marks={marks}
            isOpen={openKey.value === line.key}
            isActive={active.value === index}
            onToggle={toggle}
          />
        );
      }}
    />
  );
}

interface JsonRowProps {
  readonly line: LogLine;
  readonly table: LogTable;
  readonly marks: readonly RegExp[];
  readonly index: number;
  readonly count: number;
}

function JsonRow({ line, table, marks, index, count }: JsonRowProps) {
  return (
    <div role="listitem" aria-posinset={index + 1} aria-setsize={count} class="log-line">
      <div class="log-line-head">
        <LineText text={lineJson(line, table)} marks={marks} isOpen={false} />
      </div>
    </div>
  );
}

function focusLine(index: number): boolean {
  const button = document.querySelector<HTMLElement>(`.virtual-list [data-line="${index}"]`);
  button?.focus({ preventScroll: true });
  return button !== null;
}

/** Returns the line that a key moves to: j and k the next and the previous one, n and N those with errors. */
function keyTarget(event: KeyboardEvent, active: number, rows: readonly CountedLine[]): number | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  switch (event.key) {
    case 'ArrowDown':
      return active + 1;
    case 'ArrowUp':
      return active - 1;
    case 'Home':
      return 0;
    case 'End':
      return rows.length - 1;
    default:
      return hasLetterKeys.value ? letterTarget(event.key, active, rows) : undefined;
  }
}

function letterTarget(key: string, active: number, rows: readonly CountedLine[]): number | undefined {
  if (key === 'j') return active + 1;
  if (key === 'k') return active - 1;
  const step = key === 'n' ? 1 : key === 'N' ? -1 : 0;
  if (step === 0) return undefined;
  for (let i = active + step; i >= 0 && i < rows.length; i += step) {
    const { level } = rows[i].line;
    if (level === 'error' || level === 'fatal') return i;
  }
  return undefined;
}

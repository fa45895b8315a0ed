import { useSignal } from '@preact/signals';
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { counted } from '../../format/counted.js';
import { countText, valueText, type ValueUnit } from '../../format/numbers.js';
import { COPY_REFUSED } from '../copy-button.js';
import { copyText } from '../copy-text.js';
import { contentPx, ROW_PX, scrollToRow, visibleRows } from '../grid-layout.js';
import { legendRows, nextSort, STATISTIC_NAMES, type LegendSort, type StatisticName } from './legend-rows.js';
import { pairText, type ChartSeries, type SeriesStatistics } from './series.js';
import type { SeriesStyle } from './series-style.js';
import { Swatch } from './swatch.js';

/** What a legend lists, and what it reports. */
interface LegendProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly statistics: readonly SeriesStatistics[];
  readonly styles: readonly SeriesStyle[];
  readonly unit: ValueUnit;
  readonly hidden: ReadonlySet<string>;
  readonly onHidden: (hidden: ReadonlySet<string>) => void;
}

/** A legend with more rows is closed until the user opens it. */
const OPEN_SERIES_MAX = 100;
/** Below this number there is nothing to search. */
const SEARCH_SERIES_MIN = 8;
const HEAD_PX = 26;
const ROWS_MAX = 8;
/** A line has the names of this many series, and the number of the others. */
const LINE_NAMES_MAX = 50;

/** The series of a chart: a table with their statistics, or a line, for charts without room for a table. */
export function Legend({ kind, ...props }: LegendProps & { readonly kind: 'table' | 'line' }) {
  return kind === 'table' ? <LegendTable {...props} /> : <LegendLine {...props} />;
}

/** A row is chosen to hide the others. */
function LegendTable(props: LegendProps) {
  const { series, title } = props;
  const isOpen = useSignal(series.length <= OPEN_SERIES_MAX);
  const words = useSignal('');
  const sort = useSignal<LegendSort | undefined>(undefined);
  const copied = useSignal('');
  const rows = useMemo(
    () => legendRows(series, props.statistics, words.value, sort.value),
    [series, props.statistics, words.value, sort.value],
  );
  const copy = (text: string): void => {
    void copyText(text).then((isDone) => (copied.value = isDone ? `Copied ${text}` : COPY_REFUSED));
  };
  const shownCount = series.length - props.hidden.size;
  return (
    <div class="legend">
      <div class="row tight legend-bar">
        <button type="button" class="plain" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          {isOpen.value ? '▾' : '▸'} {seriesCountText(series.length, shownCount)}
        </button>
        {props.hidden.size > 0 && (
          <button type="button" class="plain" onClick={() => props.onHidden(new Set())}>
            Show all
          </button>
        )}
        {isOpen.value && series.length >= SEARCH_SERIES_MIN && (
          <input
            type="search"
            aria-label={`Search series of ${title}`}
            placeholder="Search series"
            value={words}
            onInput={({ currentTarget }) => (words.value = currentTarget.value)}
          />
        )}
        <span class="dim" role="status">
          {copied.value === '' && rows.length < series.length ? `${countText(rows.length)} found` : copied.value}
        </span>
      </div>
      {isOpen.value && (
        <LegendGrid
          {...props}
          rows={rows}
          sort={sort.value}
          onSort={(by) => (sort.value = nextSort(sort.value, by))}
          onCopy={copy}
        />
      )}
    </div>
  );
}

/** The names of series with their colours, which scroll. */
function LegendLine({ title, series, styles }: LegendProps) {
  return (
    <ul class="legend-line" aria-label={`Series of ${title}`} tabIndex={0}>
      {series.slice(0, LINE_NAMES_MAX).map(({ key, label }, i) => (
        <li key={key} title={label}>
          <Swatch style={styles[i]} />
          <bdi>{label}</bdi>
        </li>
      ))}
      {series.length > LINE_NAMES_MAX && <li class="dim">{counted(series.length - LINE_NAMES_MAX, 'other')}</li>}
    </ul>
  );
}

interface LegendGridProps extends LegendProps {
  /** Positions of series. */
  readonly rows: readonly number[];
  readonly sort: LegendSort | undefined;
  readonly onSort: (by: LegendSort['by']) => void;
  readonly onCopy: (text: string) => void;
}

function LegendGrid(props: LegendGridProps) {
  const { rows, series } = props;
  const box = useRef<HTMLDivElement>(null);
  const scrollPx = useSignal(0);
  const viewPx = useSignal(ROWS_MAX * ROW_PX);
  const active = useSignal(0);
  const anchor = useRef(0);
  const id = useId();
  const { first, end, topPx } = visibleRows(rows.length, scrollPx.value, viewPx.value);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => (viewPx.value = Math.max(ROW_PX, element.clientHeight - HEAD_PX)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const choose = (row: number, mode: ChoiceMode): void => {
    const shown = mode === 'range' ? rowsBetween(rows, anchor.current, row) : [rows[row]];
    if (mode !== 'range') anchor.current = row;
    active.value = row;
    const keys = shown.map((position) => series[position].key);
    props.onHidden(hiddenAfter(props.hidden, series, keys, mode === 'toggle'));
  };
  const moveTo = (row: number): void => {
    active.value = Math.max(0, Math.min(rows.length - 1, row));
    const element = box.current;
    if (element === null) return;
    element.scrollTop = scrollToRow(rows.length, active.value, element.scrollTop, viewPx.value);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = Math.min(active.value, rows.length - 1);
    const target = rowByKey(event.key, row, rows.length);
    const isCommand = event.ctrlKey || event.metaKey;
    if (target !== undefined) moveTo(target);
    else if (row < 0) return;
    else if (event.key === 'Enter') choose(row, event.shiftKey ? 'range' : isCommand ? 'toggle' : 'only');
    else if (event.key === ' ') choose(row, 'toggle');
    else if (isCommand && event.key === 'c') props.onCopy(series[rows[row]].label);
    else return;
    event.preventDefault();
  };
  const shown = rows.slice(first, end);
  return (
    <div
      ref={box}
      class="legend-grid"
      role="grid"
      aria-label={`Series of ${props.title}`}
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={rows.length === 0 ? undefined : `${id}-${active.value}`}
      title="Click: only this. Ctrl+click: hide or show. Shift+click: all from the last one. Click on a label copies it."
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget }) => (scrollPx.value = currentTarget.scrollTop)}
    >
      <LegendHead sort={props.sort} onSort={props.onSort} />
      <div role="rowgroup" class="legend-body" style={{ height: `${contentPx(rows.length)}px` }}>
        <div role="presentation" style={{ transform: `translateY(${topPx}px)` }}>
          {shown.map((position, i) => (
            <LegendRow
              key={series[position].key}
              id={`${id}-${first + i}`}
              row={first + i}
              isActive={active.value === first + i}
              series={series[position]}
              statistics={props.statistics[position]}
              style={props.styles[position]}
              unit={props.unit}
              isHidden={props.hidden.has(series[position].key)}
              onChoose={choose}
              onCopy={props.onCopy}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function LegendHead({ sort, onSort }: Pick<LegendGridProps, 'sort' | 'onSort'>) {
  const columns: readonly LegendSort['by'][] = ['name', ...STATISTIC_NAMES];
  return (
    <div class="legend-row legend-head" role="row" aria-rowindex={1}>
      {columns.map((by) => {
        const isSorted = sort?.by === by;
        const mark = !isSorted ? '' : sort.isDescending ? ' ▼' : ' ▲';
        return (
          <span
            key={by}
            role="columnheader"
            aria-sort={!isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending'}
            class={by === 'name' ? 'legend-name' : 'number'}
          >
            <button type="button" class="plain" tabIndex={-1} onClick={() => onSort(by)}>
              {(by === 'name' ? 'series' : by) + mark}
            </button>
          </span>
        );
      })}
    </div>
  );
}

interface LegendRowProps {
  readonly id: string;
  readonly row: number;
  readonly isActive: boolean;
  readonly series: ChartSeries;
  readonly statistics: SeriesStatistics;
  readonly style: SeriesStyle;
  readonly unit: ValueUnit;
  readonly isHidden: boolean;
  readonly onChoose: (row: number, mode: ChoiceMode) => void;
  readonly onCopy: (text: string) => void;
}

type ChoiceMode = 'only' | 'toggle' | 'range';

function LegendRow({ series, statistics, unit, row, ...props }: LegendRowProps) {
  const choose = (event: MouseEvent): void => {
    props.onChoose(row, event.shiftKey ? 'range' : event.ctrlKey || event.metaKey ? 'toggle' : 'only');
  };
  const copyPair = (event: MouseEvent, text: string): void => {
    if (event.shiftKey || event.ctrlKey || event.metaKey) return;
    event.stopPropagation();
    props.onCopy(text);
  };
  const { __name__: metric, ...labels } = series.labels;
  const pairs = Object.entries(labels).map(([name, value]) => pairText(name, value));
  return (
    <div
      id={props.id}
      class={`legend-row ${props.isHidden ? 'off' : ''} ${props.isActive ? 'active' : ''}`}
      role="row"
      aria-rowindex={row + 2}
      aria-selected={!props.isHidden}
      onClick={choose}
    >
      <span role="gridcell" class="legend-name" title={series.label}>
        <Swatch style={props.style} isOff={props.isHidden} />
        {pairs.length === 0 ? series.label : (metric ?? '')}
        {pairs.map((text) => (
          <span key={text} class="legend-pair" onClick={(event) => copyPair(event, text)}>
            {text}
          </span>
        ))}
      </span>
      {STATISTIC_NAMES.map((name) => (
        <span key={name} role="gridcell" class="number">
          {statisticText(name, statistics, unit)}
        </span>
      ))}
    </div>
  );
}

/** Returns what is hidden after rows were chosen: all others, or, if only these are shown, nothing. */
function hiddenAfter(
  hidden: ReadonlySet<string>,
  series: readonly ChartSeries[],
  chosen: readonly string[],
  isToggle: boolean,
): ReadonlySet<string> {
  const isChosen = new Set(chosen);
  const keys = series.map(({ key }) => key);
  if (isToggle) return new Set(keys.filter((key) => hidden.has(key) !== isChosen.has(key)));
  const others = keys.filter((key) => !isChosen.has(key));
  const isSame = others.length === hidden.size && others.every((key) => hidden.has(key));
  return new Set(isSame ? [] : others);
}

function rowsBetween(rows: readonly number[], from: number, to: number): readonly number[] {
  return rows.slice(Math.min(from, to), Math.max(from, to) + 1);
}

function rowByKey(key: string, row: number, rowCount: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: row + 1,
    ArrowUp: row - 1,
    PageDown: row + ROWS_MAX,
    PageUp: row - ROWS_MAX,
    Home: 0,
    End: rowCount - 1,
  };
  return targets[key];
}

function statisticText(name: StatisticName, statistics: SeriesStatistics, unit: ValueUnit): string {
  if (name === 'count') return countText(statistics.count);
  return statistics.count === 0 ? '' : valueText(statistics[name], unit);
}

function seriesCountText(count: number, shownCount: number): string {
  const all = `${countText(count)} series`;
  return shownCount === count ? all : `${countText(shownCount)} of ${all}`;
}

import { useSignal } from '@preact/signals';
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { counted } from '../../format/counted.js';
import { countText } from '../../format/numbers.js';
import { chooseMetric, chosenMetric } from './metrics-state.js';
import { searchMetrics, type ListedMetric } from './search-metrics.js';

const ROW_PX = 44;
const PAGE_ROWS = 10;

/** All metrics, to be searched and chosen from. */
export function MetricList({ metrics }: { readonly metrics: readonly ListedMetric[] }) {
  const words = useSignal('');
  const found = useMemo(() => searchMetrics(metrics, words.value), [metrics, words.value]);
  return (
    <>
      <input
        type="search"
        aria-label="Search metrics"
        placeholder="Search name, type, help"
        value={words}
        onInput={({ currentTarget }) => (words.value = currentTarget.value)}
        onKeyDown={({ key }) => {
          if (key === 'Enter' && found.length > 0) chooseMetric(found[0].name);
        }}
      />
      <span class="dim" role="status">
        {found.length === metrics.length
          ? counted(metrics.length, 'metric')
          : `${countText(found.length)} of ${counted(metrics.length, 'metric')}`}
      </span>
      {found.length === 0 ? <p class="dim">No metric has these words.</p> : <MetricRows found={found} />}
    </>
  );
}

function MetricRows({ found }: { readonly found: readonly ListedMetric[] }) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const scrollPx = useSignal(0);
  const viewPx = useSignal(600);
  const active = useSignal(
    Math.max(
      0,
      found.findIndex(({ name }) => name === chosenMetric.peek()),
    ),
  );
  const first = Math.max(0, Math.min(Math.floor(scrollPx.value / ROW_PX), found.length - 1));
  const shown = found.slice(first, first + Math.ceil(viewPx.value / ROW_PX) + 1);
  const activeRow = Math.min(active.value, found.length - 1);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => (viewPx.value = element.clientHeight));
    observer.observe(element);
    // A link to a metric shows it in the list.
    element.scrollTop = active.peek() * ROW_PX - element.clientHeight / 2;
    return () => observer.disconnect();
  }, []);
  const moveTo = (row: number): void => {
    active.value = Math.max(0, Math.min(found.length - 1, row));
    const element = box.current;
    if (element === null) return;
    const top = active.value * ROW_PX;
    if (top < element.scrollTop) element.scrollTop = top;
    const bottom = top + ROW_PX - element.clientHeight;
    if (bottom > element.scrollTop) element.scrollTop = bottom;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: activeRow + 1,
      ArrowUp: activeRow - 1,
      PageDown: activeRow + PAGE_ROWS,
      PageUp: activeRow - PAGE_ROWS,
      Home: 0,
      End: found.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) moveTo(target);
    else if (event.key === 'Enter' || event.key === ' ') chooseMetric(found[activeRow].name);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      class="metric-rows"
      role="listbox"
      aria-label="Metrics"
      tabIndex={0}
      aria-activedescendant={`${id}-${activeRow}`}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget }) => (scrollPx.value = currentTarget.scrollTop)}
    >
      <div role="presentation" style={{ height: `${found.length * ROW_PX}px` }}>
        <div role="presentation" style={{ transform: `translateY(${first * ROW_PX}px)` }}>
          {shown.map((metric, i) => (
            <MetricRow
              key={metric.name}
              id={`${id}-${first + i}`}
              metric={metric}
              isActive={first + i === activeRow}
              position={first + i + 1}
              count={found.length}
              onChoose={() => {
                active.value = first + i;
                chooseMetric(metric.name);
              }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface MetricRowProps {
  readonly id: string;
  readonly metric: ListedMetric;
  readonly isActive: boolean;
  readonly position: number;
  readonly count: number;
  readonly onChoose: () => void;
}

function MetricRow({ id, metric, isActive, position, count, onChoose }: MetricRowProps) {
  const { name, type, help, unit, seriesCount } = metric;
  return (
    <div
      id={id}
      class={isActive ? 'metric-row active' : 'metric-row'}
      role="option"
      aria-selected={chosenMetric.value === name}
      aria-posinset={position}
      aria-setsize={count}
      title={help === '' ? name : `${name}\n${help}`}
      onClick={onChoose}
    >
      <span class="metric-row-line">
        <span class="metric-row-name">{name}</span>
        <span class="number dim" title="series">
          {seriesCount === undefined ? '' : countText(seriesCount)}
        </span>
      </span>
      <span class="metric-row-line dim">
        <span class="metric-row-help">{help}</span>
        <span>{[type, unit].filter((text) => text !== '').join(', ')}</span>
      </span>
    </div>
  );
}

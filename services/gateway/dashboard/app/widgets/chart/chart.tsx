import './chart.css';

import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';

import { messageOf } from '../../core/http.js';
import { countText, type ValueUnit } from '../../format/numbers.js';
import { colourCount, isDark } from '../../style/theme.js';
import { zoomed, type TimeRange } from '../../time/range.js';
import { zone } from '../../time/zones.js';
import { Icon } from '../icons.js';
import { fileNameOf, saveFile } from '../save-file.js';
import { ChartTable } from './chart-table.js';
import { exemplarsToShow, type ChartExemplar, type ExemplarChoice } from './exemplars/exemplar-choice.js';
import { ExemplarList, openExemplar } from './exemplars/exemplar-list.js';
import type { HeatmapCells } from './heatmap-cells.js';
import { Legend } from './legend.js';
import { Plot, type CursorReadout } from './plot.js';
import type { PlotModel } from './plot-options.js';
import type { Readout } from './readout.js';
import { hiddenKeys, selectionText } from './selection.js';
import { chartSentence } from './sentence.js';
import {
  differingLabels,
  largestSeries,
  statisticsOf,
  type ChartKind,
  type ChartScale,
  type ChartSeries,
  type SeriesStatistics,
  type ValueBounds,
} from './series.js';
import { seriesStyle } from './series-style.js';
import { PinnedCard, spokenReadout, Tooltip, type ReadoutLook } from './tooltip.js';
import { longCsv, wideCsv } from './series-csv.js';

/** What a chart shows, and what it reports. */
export interface ChartProps {
  /** Shown above the chart; names exported files. */
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly unit: ValueUnit;
  readonly range: TimeRange;
  /** Default: `line`. */
  readonly kind?: ChartKind;
  /** Default: `lin`; stacked kinds always have zero. */
  readonly scale?: ChartScale;
  readonly bounds?: ValueBounds;
  /** Distance of samples: a missing one is a gap. Undefined: lines connect all samples of a series. */
  readonly stepMs?: number | undefined;
  /** A heatmap below the series, with cells of `stepMs`. */
  readonly cells?: HeatmapCells | undefined;
  /** Examples of what the series have counted. */
  readonly exemplars?: readonly ChartExemplar[];
  /** Called with the range to load. */
  readonly onZoom: (range: TimeRange) => void;
  /** Called by a double click. Default: zoom to twice the range. */
  readonly onZoomOut?: () => void;
  /** Which series are hidden, as `onSelection` reported it, such as from the address. Undefined: the chart keeps it. */
  readonly selection?: string | undefined;
  readonly onSelection?: (selection: string) => void;
  /** Whether the source has more series than given. */
  readonly isTruncated?: boolean;
  /** Called when the user wants them; undefined if they cannot be loaded. */
  readonly onAll?: () => void;
  /** Whether the next values are being loaded: these are dimmed. */
  readonly isStale?: boolean;
  /** Default: 280. */
  readonly heightPx?: number;
  /** Below the chart: a table of the series with statistics, a line with their names, or nothing. Default: `table`. */
  readonly legend?: 'table' | 'line' | 'none';
}

/** Series that are drawn without a choice of the user, and with it. */
const [SERIES_SHOWN, SERIES_MAX] = [200, 2000];
const HEIGHT_PX = 280;
const PINS_MAX = 6;
const SPOKEN_MS = 1000;
const SPOKEN_SERIES_MAX = 5;
const NO_BOUNDS: ValueBounds = {};
const NO_EXEMPLARS: readonly ChartExemplar[] = [];

/**
 * A chart of series over time. Drag zooms in, a double click out; Shift and drag, or the arrows, move; Ctrl and the wheel,
 * `+` and `-` zoom; a click, or Enter, pins values; all charts of the page show the same instant.
 */
export function Chart(props: ChartProps) {
  const { title, unit, range, heightPx = HEIGHT_PX, legend = 'table' } = props;
  const isWhole = useSignal(false);
  const isTable = useSignal(false);
  const readout = useSignal<CursorReadout | undefined>(undefined);
  const pins = useSignal<readonly Readout[]>([]);
  const box = useRef<HTMLDivElement>(null);
  const { all, model, hidden, setHidden } = useModel(props, isWhole.value ? SERIES_MAX : SERIES_SHOWN);
  const marked = useMemo(() => pins.value.map(({ timeMs }) => timeMs), [pins.value]);
  const choice = useExemplarChoice(props);
  const look = { unit, zone: zone.value, differing: all.differing };
  const pin = (): void => {
    const now = readout.peek();
    if (now === undefined || openExemplar(now.exemplar)) return;
    pins.value = [...pins.value.filter(({ timeMs }) => timeMs !== now.timeMs), now].slice(-PINS_MAX);
  };
  return (
    <figure
      class={props.isStale === true ? 'chart stale' : 'chart'}
      aria-label={title}
      onKeyDown={({ key }) => key === 'Escape' && (pins.value = [])}
    >
      <ChartBar
        title={title}
        model={model}
        isTable={isTable.value}
        onTable={() => (isTable.value = !isTable.value)}
        size={() => [box.current?.clientWidth ?? 800, heightPx]}
      />
      <LimitNotice
        drawnCount={model.series.length}
        shownCount={props.series.length - hidden.size}
        isTruncated={props.isTruncated === true}
        isWhole={isWhole}
        onMore={props.onAll}
      />
      {isTable.value ? (
        <ChartTable title={title} series={model.series} unit={unit} />
      ) : (
        <div ref={box} class="chart-box">
          <Plot
            model={model}
            label={chartSentence(props.series, all.statistics, range, look)}
            heightPx={heightPx}
            markedMs={marked}
            exemplars={choice.shown}
            onZoom={props.onZoom}
            onZoomOut={props.onZoomOut ?? (() => props.onZoom(zoomed(range, 2)))}
            onCursor={(found) => (readout.value = found)}
            onPin={pin}
          />
          {readout.value !== undefined && (
            <Tooltip readout={readout.value} look={look} widthPx={box.current?.clientWidth ?? 0} />
          )}
          {props.series.length === 0 && <p class="chart-empty">No series in this range</p>}
        </div>
      )}
      <Spoken text={readout.value === undefined ? '' : spokenReadout(readout.value, look, SPOKEN_SERIES_MAX)} />
      <Pins pins={pins} look={look} />
      <ExemplarList choice={choice} unit={unit} />
      {legend !== 'none' && props.series.length > 0 && (
        <Legend
          kind={legend}
          title={title}
          series={props.series}
          statistics={all.statistics}
          styles={all.styles}
          unit={unit}
          hidden={hidden}
          onHidden={setHidden}
        />
      )}
    </figure>
  );
}

/** Computes what is drawn; the model changes only when the picture does. */
function useModel(props: ChartProps, countMax: number) {
  const { series, unit, stepMs, cells, kind = 'line', scale = 'lin', bounds = NO_BOUNDS } = props;
  const { fromMs, toMs } = props.range;
  const own = useSignal('');
  const selection = props.selection ?? own.value;
  const hasCells = cells !== undefined;
  const all = useMemo(
    () => ({
      keys: series.map(({ key }) => key),
      statistics: series.map(({ values }) => statisticsOf(values)),
      // The first colour is that of cells.
      styles: series.map((_, i) => seriesStyle(hasCells ? i + 1 : i, isDark())),
      differing: differingLabels(series),
    }),
    [series, hasCells, colourCount.value],
  );
  const hidden = useMemo(() => hiddenKeys(selection, all.keys), [selection, all]);
  const model = useMemo((): PlotModel => {
    const positions = drawnPositions(series, all.statistics, hidden, countMax);
    return {
      series: positions.map((position) => series[position]),
      styles: positions.map((position) => all.styles[position]),
      ...{ range: { fromMs, toMs }, unit, kind, scale, bounds, zone: zone.value, stepMs, cells },
    };
  }, [
    series,
    all,
    hidden,
    countMax,
    fromMs,
    toMs,
    unit,
    kind,
    scale,
    bounds.min,
    bounds.max,
    zone.value,
    stepMs,
    cells,
  ]);
  const setHidden = (next: ReadonlySet<string>): void => {
    const text = selectionText(next, all.keys);
    if (props.onSelection === undefined) own.value = text;
    else props.onSelection(text);
  };
  return { all, model, hidden, setHidden };
}

function useExemplarChoice({ exemplars = NO_EXEMPLARS, range }: ChartProps): ExemplarChoice {
  return useMemo(() => exemplarsToShow(exemplars, range), [exemplars, range.fromMs, range.toMs]);
}

/** Those of the shown series that have the largest maxima. */
function drawnPositions(
  series: readonly ChartSeries[],
  statistics: readonly SeriesStatistics[],
  hidden: ReadonlySet<string>,
  countMax: number,
): readonly number[] {
  const shown = series.flatMap(({ key }, i) => (hidden.has(key) ? [] : [i]));
  const largest = largestSeries(
    shown.map((i) => statistics[i]),
    countMax,
  );
  return largest.map((i) => shown[i]);
}

interface ChartBarProps {
  readonly title: string;
  readonly model: PlotModel;
  readonly isTable: boolean;
  readonly onTable: () => void;
  /** Width and height of the chart in pixels. */
  readonly size: () => readonly [number, number];
}

function ChartBar({ title, model, isTable, onTable, size }: ChartBarProps) {
  const failure = useSignal('');
  const savePicture = (): void => {
    failure.value = '';
    // The code is loaded when it is needed.
    import('./picture.js')
      .then(({ chartPicture }) => chartPicture(model, title, ...size()))
      .then((picture) => saveFile(`${fileNameOf(title)}.png`, picture))
      .catch((error: unknown) => (failure.value = messageOf(error)));
  };
  const saveCsv = (write: typeof wideCsv): void => {
    saveFile(`${fileNameOf(title)}.csv`, new Blob([write(model.series, model.zone)], { type: 'text/csv' }));
  };
  return (
    <>
      <div class="row tight chart-bar">
        <figcaption class="grow">{title}</figcaption>
        <button type="button" class="plain" aria-pressed={isTable} onClick={onTable}>
          {isTable ? 'Show as chart' : 'Show as table'}
        </button>
        <button type="button" class="plain" title="Save the picture" onClick={savePicture}>
          <Icon name="download" /> PNG
        </button>
        <button type="button" class="plain" title="Save a column for each series" onClick={() => saveCsv(wideCsv)}>
          <Icon name="download" /> CSV
        </button>
        <button type="button" class="plain" title="Save a row for each sample" onClick={() => saveCsv(longCsv)}>
          <Icon name="download" /> Long CSV
        </button>
      </div>
      {failure.value !== '' && (
        <p class="error" role="alert">
          {failure}
        </p>
      )}
    </>
  );
}

interface LimitNoticeProps {
  readonly drawnCount: number;
  /** With those that are not drawn because there are too many. */
  readonly shownCount: number;
  readonly isTruncated: boolean;
  /** Whether the user wants more than are drawn at first. */
  readonly isWhole: Signal<boolean>;
  /** Loads more; undefined if there are none. */
  readonly onMore: (() => void) | undefined;
}

function LimitNotice({ drawnCount, shownCount, isTruncated, isWhole, onMore }: LimitNoticeProps) {
  if (shownCount <= drawnCount && !isTruncated) return null;
  const showAll = (): void => {
    isWhole.value = true;
    onMore?.();
  };
  return (
    <p class="notice">
      Showing {countText(drawnCount)} of {isTruncated ? 'at least ' : ''}
      {countText(shownCount)} series: those with the largest maxima.{' '}
      {!(isWhole.value && onMore === undefined) && (
        <button type="button" onClick={showAll}>
          Show {isTruncated || shownCount > SERIES_MAX ? `up to ${countText(SERIES_MAX)}` : 'all'}
        </button>
      )}
    </p>
  );
}

function Pins({ pins, look }: { readonly pins: Signal<readonly Readout[]>; readonly look: ReadoutLook }) {
  if (pins.value.length === 0) return null;
  return (
    <div class="chart-pins">
      {pins.value.map((pinned) => (
        <PinnedCard
          key={pinned.timeMs}
          readout={pinned}
          look={look}
          onClose={() => (pins.value = pins.value.filter((other) => other !== pinned))}
        />
      ))}
    </div>
  );
}

/** Says the values at the cursor, at most once a second. */
function Spoken({ text }: { readonly text: string }) {
  const said = useSignal('');
  const latest = useRef(text);
  latest.current = text;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      said.value = latest.current;
    }, SPOKEN_MS);
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <span class="visually-hidden" role="status">
      {said}
    </span>
  );
}

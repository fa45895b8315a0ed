import 'uplot/dist/uPlot.min.css';

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

import { colourCount, colourOf } from '../../style/theme.js';
import type { TimeRange } from '../../time/range.js';
import type { PlotValues } from './align.js';
import type { ChartExemplar } from './exemplars/exemplar-choice.js';
import { drawExemplars, exemplarAt } from './exemplars/exemplar-marks.js';
import { attachGestures, rangeByKey, wholeRange } from './gestures.js';
import { cellAt, type HeatmapBucket } from './heatmap-cells.js';
import { drawCells } from './heatmap-paint.js';
import { isStacked, plotData, plotOptions, type PlotLook, type PlotModel } from './plot-options.js';
import { readoutAt, type Readout } from './readout.js';

/** Where the cursor is, and what is there. */
export interface CursorReadout extends Readout {
  /** Pixels from the left edge of the plot, and from its top. */
  readonly leftPx: number;
  readonly topPx: number;
  /** The cell of a heatmap that the pointer is on. */
  readonly cell?: { readonly bucket: HeatmapBucket; readonly count: number } | undefined;
  /** The exemplar whose diamond the pointer is on. */
  readonly exemplar?: ChartExemplar | undefined;
}

/** What a plot shows, and what it reports. */
interface PlotProps {
  readonly model: PlotModel;
  /** A sentence that describes the picture. */
  readonly label: string;
  readonly heightPx: number;
  /** Times that are marked. */
  readonly markedMs: readonly number[];
  /** Each has a diamond. */
  readonly exemplars: readonly ChartExemplar[];
  readonly onZoom: (range: TimeRange) => void;
  readonly onZoomOut: () => void;
  /** Called when the pointer or a key moves the cursor; undefined when it leaves. */
  readonly onCursor: (readout: CursorReadout | undefined) => void;
  readonly onPin: () => void;
}

/** Charts of a page show the same instant. */
const SYNC_KEY = 'page';
/** A sample that is farther from the cursor is not at it. */
const NEAR_PX = 20;
const DRAG_PX_MIN = 4;

/** The canvas of a chart. */
export function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const plot = useRef<uPlot | undefined>(undefined);
  const { model, heightPx } = props;
  const isHeld = useRef(false);
  const isWaiting = useRef(false);
  const releaseCount = useSignal(0);
  const hold = (held: boolean): void => {
    isHeld.current = held;
    if (!held && isWaiting.current) releaseCount.value++;
  };
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    // New values must not end a gesture; they are drawn after it.
    isWaiting.current = isHeld.current;
    if (isHeld.current) return;
    const { left = -1, top = -1, event } = plot.current?.cursor ?? {};
    plot.current?.destroy();
    // They appear under a pointer that rests.
    plot.current = createPlot(
      element,
      latest,
      hold,
      event instanceof MouseEvent && left >= 0 ? { left, top } : undefined,
    );
  }, [model, heightPx, colourCount.value, releaseCount.value]);
  useLayoutEffect(() => {
    const end = (): void => hold(false);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
    return () => {
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
      plot.current?.destroy();
    };
  }, []);
  useLayoutEffect(() => plot.current?.redraw(false, false), [props.markedMs, props.exemplars]);
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && plot.current !== undefined && plot.current.width !== width) {
        plot.current.setSize({ width, height: latest.current.heightPx });
      }
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={host}
      class="plot"
      role="img"
      aria-label={props.label}
      tabIndex={0}
      style={{ height: `${heightPx}px` }}
      onPointerDown={() => hold(true)}
      onKeyDown={(event) => onKey(event, plot.current, latest.current)}
      onBlur={() => latest.current.onCursor(undefined)}
    />
  );
}

interface CursorPlace {
  readonly left: number;
  readonly top: number;
}

function createPlot(
  host: HTMLElement,
  latest: { readonly current: PlotProps },
  hold: (isHeld: boolean) => void,
  cursorAt: CursorPlace | undefined,
): uPlot {
  const { model, heightPx } = latest.current;
  const aligned = plotData(model);
  let view = model.range;
  let waiting = cursorAt;
  const options = plotOptions(model, pageLook(host.clientWidth, heightPx), aligned, () => view);
  const created = new uPlot(
    {
      ...options,
      cursor: cursorOptions(latest),
      hooks: {
        setCursor: [(plot) => reportCursor(plot, latest.current, aligned.values)],
        setSelect: [(plot) => zoomToSelection(plot, latest.current)],
        drawAxes: [(plot) => drawCells(plot, model)],
        draw: [
          (plot) => {
            drawMarks(plot, latest.current.markedMs);
            drawExemplars(plot, latest.current.exemplars);
            // Before the first drawing the scales have no bounds.
            const place = waiting;
            waiting = undefined;
            if (place !== undefined) placeCursor(plot, place);
          },
        ],
      },
    },
    [aligned.times, ...aligned.values] as uPlot.AlignedData,
    host,
  );
  const detach = attachGestures(created, {
    view: () => view,
    show: (range) => {
      view = range;
      created.setScale('x', { min: range.fromMs, max: range.toMs });
    },
    onZoom: (range) => latest.current.onZoom(range),
    hold,
  });
  created.hooks.destroy = [detach];
  created.over.addEventListener('click', ({ shiftKey }) => {
    if (!shiftKey) latest.current.onPin();
  });
  return created;
}

/** Returns the colours of the page, for a canvas of a size. */
export function pageLook(widthPx: number, heightPx: number): PlotLook {
  return {
    text: colourOf('--dim'),
    line: colourOf('--line'),
    back: colourOf('--back'),
    widthPx: Math.max(100, widthPx),
    heightPx,
    factor: 1,
  };
}

function cursorOptions(latest: { readonly current: PlotProps }): uPlot.Cursor {
  return {
    y: false,
    points: { show: false },
    drag: { x: true, y: false, setScale: false, dist: DRAG_PX_MIN },
    sync: {
      key: SYNC_KEY,
      setSeries: false,
      scales: ['x', null],
      // A selection of one chart is none of another.
      filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave' },
    },
    bind: {
      mousedown: (_plot, _target, handle) => (event) => {
        // With Shift the pointer moves the range.
        if (event.button === 0 && !event.shiftKey) handle(event);
        return null;
      },
      dblclick: () => () => {
        latest.current.onZoomOut();
        return null;
      },
    },
  };
}

function reportCursor(plot: uPlot, { model, exemplars, onCursor }: PlotProps, values: readonly PlotValues[]): void {
  const { left = -1, top = -1, idx, event } = plot.cursor;
  // If another chart of the page has the pointer, here is only its line.
  const isOwn = event instanceof MouseEvent || placedPlot === plot;
  if (!isOwn || left < 0 || typeof idx !== 'number') return onCursor(undefined);
  const timeMs = plot.data[0][idx];
  const nearMs = (NEAR_PX * (model.range.toMs - model.range.fromMs)) / Math.max(1, plot.over.clientWidth);
  const readout = readoutAt(model, timeMs, Math.max(nearMs, (model.stepMs ?? 0) / 2), (value, i) => {
    // In a stack the line is at the sum.
    const shown = isStacked(model.kind) ? (values[i][idx] ?? value) : value;
    return Math.abs(plot.valToPos(shown, 'y') - top);
  });
  const offset = plot.over.getBoundingClientRect();
  const outer = plot.root.getBoundingClientRect();
  const { cells, stepMs = 1 } = model;
  const cell = cells && cellAt(cells, stepMs, plot.posToVal(left, 'x'), plot.posToVal(top, 'y'));
  const exemplar = exemplarAt(plot, exemplars, left, top);
  plot.over.style.cursor = exemplar === undefined ? '' : 'pointer';
  onCursor({ ...readout, leftPx: offset.left - outer.left + plot.valToPos(timeMs, 'x'), topPx: top, cell, exemplar });
}

/** The plot whose cursor is being moved by something else than the pointer. */
let placedPlot: uPlot | undefined;

function placeCursor(plot: uPlot, place: CursorPlace): void {
  placedPlot = plot;
  plot.setCursor(place);
  placedPlot = undefined;
}

function zoomToSelection(plot: uPlot, { onZoom }: PlotProps): void {
  const { left, width } = plot.select;
  if (width < DRAG_PX_MIN) return;
  const range = wholeRange(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onZoom(range);
}

function drawMarks(plot: uPlot, times: readonly number[]): void {
  if (times.length === 0) return;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colourOf('--accent');
  ctx.lineWidth = uPlot.pxRatio;
  for (const timeMs of times) {
    const x = Math.round(plot.valToPos(timeMs, 'x', true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function onKey(event: KeyboardEvent, plot: uPlot | undefined, props: PlotProps): void {
  if (event.ctrlKey || event.metaKey || event.altKey || plot === undefined) return;
  const range = rangeByKey(event, props.model.range);
  if (range !== undefined) props.onZoom(range);
  else if (event.key === 'Enter') props.onPin();
  else if (event.key === 'Escape') placeCursor(plot, { left: -10, top: -10 });
  else if (!moveCursor(plot, event.key)) return;
  event.preventDefault();
}

/** Moves the cursor to the next sample. */
function moveCursor(plot: uPlot, key: string): boolean {
  const [times] = plot.data;
  const last = times.length - 1;
  if (last < 0) return false;
  const now = plot.cursor.idx;
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: Math.max(0, (now ?? last + 1) - 1),
    ArrowRight: Math.min(last, (now ?? -1) + 1),
    Home: 0,
    End: last,
  };
  const index = steps[key];
  if (index === undefined) return false;
  const left = Math.max(0, Math.min(plot.over.clientWidth, plot.valToPos(times[index], 'x')));
  placeCursor(plot, { left, top: plot.over.clientHeight / 2 });
  return true;
}

import type uPlot from 'uplot';

import { zoomed, type TimeRange } from '../../time/range.js';

/** The range in view, which gestures move. */
export interface GestureTarget {
  readonly view: () => TimeRange;
  /** Shows another range until the next one is set. */
  readonly show: (range: TimeRange) => void;
  /** Called at the end, with the range to load. */
  readonly onZoom: (range: TimeRange) => void;
  /** Called when a gesture begins and ends: between, the plot must stay as it is. */
  readonly hold: (isHeld: boolean) => void;
}

const WHEEL_FACTOR = 1.25;
const WHEEL_PAUSE_MS = 250;
/** A range that is shorter has no times to show. */
const RANGE_MS_MIN = 10;

/**
 * Lets Shift and the pointer move the range of a plot, and Ctrl and the wheel zoom it around the pointer. The plot follows
 * at once; `onZoom` is called at the end.
 *
 * @returns a function that ends it.
 */
export function attachGestures(plot: uPlot, { view, show, onZoom, hold }: GestureTarget): () => void {
  const { over } = plot;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = plot.posToVal(event.clientX - over.getBoundingClientRect().left, 'x');
    show(around(view(), at, event.deltaY > 0 ? WHEEL_FACTOR : 1 / WHEEL_FACTOR));
    hold(true);
    clearTimeout(timer);
    timer = setTimeout(() => {
      onZoom(view());
      hold(false);
    }, WHEEL_PAUSE_MS);
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (!event.shiftKey || event.button !== 0) return;
    const { fromMs, toMs } = view();
    const msPerPx = (toMs - fromMs) / over.clientWidth;
    over.setPointerCapture(event.pointerId);
    const move = ({ clientX }: PointerEvent): void => {
      const byMs = (event.clientX - clientX) * msPerPx;
      show(wholeRange(fromMs + byMs, toMs + byMs));
    };
    const end = ({ clientX }: PointerEvent): void => {
      over.removeEventListener('pointermove', move);
      over.removeEventListener('pointerup', end);
      over.removeEventListener('pointercancel', end);
      if (clientX !== event.clientX) onZoom(view());
    };
    over.addEventListener('pointermove', move);
    over.addEventListener('pointerup', end);
    over.addEventListener('pointercancel', end);
  };
  over.addEventListener('wheel', onWheel, { passive: false });
  over.addEventListener('pointerdown', onPointerDown);
  return () => {
    clearTimeout(timer);
    over.removeEventListener('wheel', onWheel);
    over.removeEventListener('pointerdown', onPointerDown);
  };
}

/** Returns the range that a key of a focused plot changes to; undefined for other keys. */
export function rangeByKey({ key, shiftKey }: KeyboardEvent, range: TimeRange): TimeRange | undefined {
  if (key === '+' || key === '=') return zoomed(range, 0.5);
  if (key === '-') return zoomed(range, 2);
  if (!shiftKey || (key !== 'ArrowLeft' && key !== 'ArrowRight')) return undefined;
  const byMs = Math.round((range.toMs - range.fromMs) / 2) * (key === 'ArrowLeft' ? -1 : 1);
  return { fromMs: range.fromMs + byMs, toMs: range.toMs + byMs };
}

/** Returns a range whose bounds are whole milliseconds, and not equal. */
export function wholeRange(fromMs: number, toMs: number): TimeRange {
  const from = Math.round(fromMs);
  return { fromMs: from, toMs: Math.max(from + RANGE_MS_MIN, Math.round(toMs)) };
}

function around({ fromMs, toMs }: TimeRange, atMs: number, factor: number): TimeRange {
  return wholeRange(atMs - (atMs - fromMs) * factor, atMs + (toMs - atMs) * factor);
}

import uPlot from 'uplot';

import { colourOf } from '../../../style/theme.js';
import type { ChartExemplar } from './exemplar-choice.js';

const HALF_PX = 5;
/** The pointer is on a mark within this distance. */
const NEAR_PX = 8;

/**
 * Draws a diamond for each exemplar: at its value, at the edge of the plot if that is not in view, and at the lower edge if
 * it does not belong on the axis.
 */
export function drawExemplars(plot: uPlot, exemplars: readonly ChartExemplar[]): void {
  if (exemplars.length === 0) return;
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const half = HALF_PX * ratio;
  ctx.save();
  ctx.fillStyle = colourOf('--text');
  ctx.strokeStyle = colourOf('--back');
  ctx.lineWidth = ratio;
  for (const exemplar of exemplars) {
    const place = placeOf(plot, exemplar);
    if (place === undefined) continue;
    const [x, y] = [bbox.left + place.leftPx * ratio, bbox.top + place.topPx * ratio];
    ctx.beginPath();
    ctx.moveTo(x, y - half);
    ctx.lineTo(x + half, y);
    ctx.lineTo(x, y + half);
    ctx.lineTo(x - half, y);
    ctx.closePath();
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

/** Returns the exemplar whose diamond is at a place of the plot, in pixels. */
export function exemplarAt(
  plot: uPlot,
  exemplars: readonly ChartExemplar[],
  leftPx: number,
  topPx: number,
): ChartExemplar | undefined {
  let [nearest, nearestPx]: [ChartExemplar | undefined, number] = [undefined, NEAR_PX];
  for (const exemplar of exemplars) {
    const place = placeOf(plot, exemplar);
    if (place === undefined) continue;
    const far = Math.hypot(place.leftPx - leftPx, place.topPx - topPx);
    if (far <= nearestPx) [nearest, nearestPx] = [exemplar, far];
  }
  return nearest;
}

/** Returns where the middle of a diamond is; undefined if its time is not in view or its value has no place on the axis. */
function placeOf(
  plot: uPlot,
  { timeMs, value, isComparable }: ChartExemplar,
): { readonly leftPx: number; readonly topPx: number } | undefined {
  const { clientWidth: widthPx, clientHeight: heightPx } = plot.over;
  const leftPx = plot.valToPos(timeMs, 'x');
  const top = isComparable ? plot.valToPos(value, 'y') : heightPx;
  if (!(leftPx >= 0 && leftPx <= widthPx) || Number.isNaN(top)) return undefined;
  return { leftPx, topPx: Math.max(HALF_PX, Math.min(heightPx - HALF_PX, top)) };
}

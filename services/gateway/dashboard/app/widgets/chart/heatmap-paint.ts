import type uPlot from 'uplot';

import { colourOf } from '../../style/theme.js';
import { drawnBounds } from './heatmap-cells.js';
import type { PlotModel } from './plot-options.js';

/** Cells with few observations are still seen. */
const OPACITY_MIN = 0.08;

/** Draws the cells of a heatmap. One image of a pixel a cell, scaled by row, takes a fiftieth of the time of rectangles. */
export function drawCells(plot: uPlot, { cells, stepMs = 0 }: PlotModel): void {
  if (cells === undefined || cells.times.length === 0 || cells.max === 0) return;
  const { ctx, bbox } = plot;
  const { times, buckets, max } = cells;
  const image = new ImageData(times.length, buckets.length);
  const [red, green, blue] = channelsOf(colourOf('--accent'));
  buckets.forEach(({ counts }, row) => {
    for (let column = 0; column < times.length; column++) {
      const count = counts[column];
      if (!(count > 0)) continue;
      // Counts differ by orders of magnitude.
      const opacity = OPACITY_MIN + (1 - OPACITY_MIN) * Math.sqrt(count / max);
      image.data.set([red, green, blue, Math.round(255 * opacity)], 4 * (row * times.length + column));
    }
  });
  const source = new OffscreenCanvas(times.length, buckets.length);
  source.getContext('2d')?.putImageData(image, 0, 0);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  // A cell counts the observations of the step before its time.
  const left = plot.valToPos(times[0] - stepMs, 'x', true);
  const width = plot.valToPos(times[times.length - 1], 'x', true) - left;
  buckets.forEach((_, row) => {
    const { low, high } = drawnBounds(buckets, row);
    const top = Math.round(plot.valToPos(high, 'y', true));
    const bottom = Math.round(plot.valToPos(low, 'y', true));
    ctx.drawImage(source, 0, row, times.length, 1, left, top, width, bottom - top);
  });
  ctx.restore();
}

/** Reads a computed colour: `rgb(36, 86, 201)`. */
function channelsOf(colour: string): readonly [number, number, number] {
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  return [red, green, blue];
}

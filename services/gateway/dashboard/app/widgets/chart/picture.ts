import uPlot from 'uplot';

import { instantText } from '../../time/instant-text.js';
import { pageLook } from './plot.js';
import { plotData, plotOptions, type PlotModel } from './plot-options.js';

const FACTOR = 2;
const [MARGIN_PX, TITLE_PX, LINE_PX, SWATCH_PX] = [16, 52, 20, 24];
const LEGEND_LINES_MAX = 30;
const FONT = "system-ui, 'DejaVu Sans', sans-serif";

/**
 * Draws a chart at twice its size, with its title, range, zone and legend.
 *
 * @param widthPx of the chart on the page.
 * @throws Error if the browser cannot encode it.
 */
export async function chartPicture(model: PlotModel, title: string, widthPx: number, heightPx: number): Promise<Blob> {
  const [width, height] = [widthPx * FACTOR, heightPx * FACTOR];
  const look = { ...pageLook(width, height), factor: FACTOR };
  const plot = await drawnPlot(model, look);
  const density = FACTOR * uPlot.pxRatio;
  const lines = model.series.slice(0, LEGEND_LINES_MAX);
  const canvas = document.createElement('canvas');
  canvas.width = plot.ctx.canvas.width + 2 * MARGIN_PX * density;
  const legendPx = (lines.length + 1) * LINE_PX + MARGIN_PX;
  canvas.height = plot.ctx.canvas.height + (TITLE_PX + legendPx) * density;
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('The browser has no memory for a picture.');
  context.fillStyle = look.back;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(plot.ctx.canvas, MARGIN_PX * density, TITLE_PX * density);
  context.scale(density, density);
  const { text } = look;
  writeText(context, title, 15, text, MARGIN_PX, 22);
  const { fromMs, toMs } = model.range;
  const range = `${instantText(fromMs, model.zone)} to ${instantText(toMs, model.zone)} (${model.zone})`;
  writeText(context, range, 12, text, MARGIN_PX, 42);
  const legendTop = TITLE_PX + plot.ctx.canvas.height / density + LINE_PX;
  lines.forEach(({ label }, i) => {
    const y = legendTop + i * LINE_PX;
    const { colour, dash } = model.styles[i];
    context.strokeStyle = colour;
    context.lineWidth = 3;
    context.setLineDash([...dash]);
    context.beginPath();
    context.moveTo(MARGIN_PX, y - 4);
    context.lineTo(MARGIN_PX + SWATCH_PX, y - 4);
    context.stroke();
    writeText(context, label.slice(0, 300), 12, text, MARGIN_PX + SWATCH_PX + 8, y);
  });
  const rest = model.series.length - lines.length;
  if (rest > 0) writeText(context, `${rest} more`, 12, text, MARGIN_PX, legendTop + lines.length * LINE_PX);
  plot.destroy();
  return blobOf(canvas);
}

function drawnPlot(model: PlotModel, look: Parameters<typeof plotOptions>[1]): Promise<uPlot> {
  const aligned = plotData(model);
  return new Promise((resolve) => {
    const options = plotOptions(model, look, aligned, () => model.range);
    new uPlot(
      { ...options, cursor: { show: false }, hooks: { draw: [resolve] } },
      [aligned.times, ...aligned.values] as uPlot.AlignedData,
      document.createElement('div'),
    );
  });
}

function writeText(
  context: CanvasRenderingContext2D,
  text: string,
  sizePx: number,
  colour: string,
  ...at: readonly [x: number, y: number]
): void {
  context.font = `${sizePx}px ${FONT}`;
  context.fillStyle = colour;
  context.fillText(text, ...at);
}

function blobOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error('The picture is too large for the browser.'));
      else resolve(blob);
    }, 'image/png');
  });
}

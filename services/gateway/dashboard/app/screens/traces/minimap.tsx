import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { yieldToPage } from '../../core/yield.js';
import { counted } from '../../format/counted.js';
import { colourCount, colourOf } from '../../style/theme.js';
import { microsecondText } from './duration.js';
import { serviceVariables } from './service-colours.js';
import type { SpanTree } from './span-tree.js';
import { setZoom, zoom } from './traces-state.js';

const HEIGHT_PX = 56;
const ROW_PX_MAX = 4;
/** Spans that are drawn before the page may do something else. */
const SLICE = 4000;

/** The whole trace in small. Dragging over it chooses the part that the waterfall shows. */
export function Minimap({ tree }: { readonly tree: SpanTree }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(0);
  const drag = useSignal<{ readonly from: number; readonly to: number } | undefined>(undefined);
  const lengthUs = Math.max(1, tree.endUs - tree.startUs);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => (width.value = element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    if (canvas.current !== null && width.value > 0) void draw(canvas.current, tree, width.value, abort.signal);
    return () => abort.abort();
  }, [tree, width.value, colourCount.value]);
  const shareOf = (event: PointerEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const onUp = (): void => {
    if (drag.value === undefined) return;
    const [from, to] = [drag.value.from, drag.value.to].sort((a, b) => a - b);
    drag.value = undefined;
    // A click shows the whole trace again.
    const isDrag = to - from > 0.004 && (to - from) * lengthUs >= 1;
    setZoom(isDrag ? { fromUs: from * lengthUs, toUs: Math.max(to * lengthUs, from * lengthUs + 1) } : undefined);
  };
  const part =
    drag.value ??
    (zoom.value === undefined ? undefined : { from: zoom.value.fromUs / lengthUs, to: zoom.value.toUs / lengthUs });
  return (
    <div
      class="minimap"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.value = { from: shareOf(event), to: shareOf(event) };
      }}
      onPointerMove={(event) => {
        if (drag.value !== undefined) drag.value = { ...drag.value, to: shareOf(event) };
      }}
      onPointerUp={onUp}
      onPointerCancel={() => (drag.value = undefined)}
    >
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${counted(tree.nodes.length, 'span')} over ${microsecondText(lengthUs)}. Drag to choose a part.`}
      />
      {part !== undefined && (
        <span
          class="minimap-part"
          style={{
            left: `${Math.min(part.from, part.to) * 100}%`,
            width: `${Math.abs(part.to - part.from) * 100}%`,
          }}
        />
      )}
    </div>
  );
}

/** Draws in slices: tens of thousands of spans take longer than a frame. */
async function draw(element: HTMLCanvasElement, tree: SpanTree, widthPx: number, signal: AbortSignal): Promise<void> {
  const scale = devicePixelRatio;
  element.width = Math.round(widthPx * scale);
  element.height = Math.round(HEIGHT_PX * scale);
  const context = element.getContext('2d');
  if (context === null) return;
  context.scale(scale, scale);
  const { nodes, startUs, endUs, services } = tree;
  const lengthUs = Math.max(1, endUs - startUs);
  const rowPx = Math.min(ROW_PX_MAX, HEIGHT_PX / nodes.length);
  const colours = serviceVariables().map(colourOf);
  const bad = colourOf('--bad');
  const places = new Map(services.map((service, i) => [service, colours[i % colours.length]]));
  for (let i = 0; i < nodes.length; i++) {
    if (i % SLICE === SLICE - 1) await yieldToPage();
    if (signal.aborted) return;
    const node = nodes[i];
    context.fillStyle = node.isError ? bad : (places.get(node.service) ?? colours[0]);
    const left = ((node.startUs - startUs) / lengthUs) * widthPx;
    const width = Math.max(1, ((node.endUs - node.startUs) / lengthUs) * widthPx);
    context.fillRect(left, i * rowPx, width, Math.max(0.5, rowPx - (rowPx > 2 ? 1 : 0)));
  }
}

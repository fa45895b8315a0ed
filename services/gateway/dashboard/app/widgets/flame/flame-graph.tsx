import './flame.css';

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { colourCount, colourOf, isDark } from '../../style/theme.js';
import {
  flameBoxes,
  flameTree,
  isFound,
  type FlameBox,
  type FlameData,
  type FlameFrame,
  type FlameNode,
} from './flame-data.js';

/** What a flame graph shows. */
export interface FlameGraphProps {
  readonly data: FlameData;
  /** The profile that it is compared with: colours show what grew and what shrank. */
  readonly base?: FlameData | undefined;
  /** Name of the root. */
  readonly title: string;
  /** Functions whose names have all its words are marked. */
  readonly search: string;
  /** Whether callers are drawn below callees. */
  readonly isInverted: boolean;
  readonly format: (value: number) => string;
  /** Functions with the same group have one colour. Default: the folder of the file. */
  readonly groupOf?: (frame: FlameFrame) => string;
}

const ROW_PX = 19;
const LABEL_PX_MIN = 24;
const CHARACTER_PX = 6.7;

/** Calls as boxes: below each function what it calls, as wide as it took. A click, or Enter, makes one as wide as the graph. */
export function FlameGraph(props: FlameGraphProps) {
  const { data, base, title, search, isInverted, format, groupOf = folderOf } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const widthPx = useSignal(0);
  const focus = useSignal(0);
  const selected = useSignal(0);
  const hovered = useSignal<number | undefined>(undefined);
  const tree = useMemo(() => flameTree(data, isInverted, base), [data, isInverted, base]);
  const shownTree = useRef(tree);
  if (shownTree.current !== tree) {
    shownTree.current = tree;
    focus.value = 0;
    selected.value = 0;
    hovered.value = undefined;
  }
  const boxes = useMemo(() => flameBoxes(tree, focus.value, widthPx.value), [tree, focus.value, widthPx.value]);
  const found = useMemo(() => data.frames.map((frame) => isFound(frame, search)), [data, search]);
  const heightPx = tree.levelCount * ROW_PX;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    // At once: without a width there are no boxes, and keys do nothing.
    widthPx.value = element.clientWidth;
    const observer = new ResizeObserver(() => (widthPx.value = element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const colours = colourCount.value;
  useEffect(() => {
    if (canvas.current === null || widthPx.value === 0) return;
    draw(canvas.current, {
      boxes,
      tree: tree.nodes,
      data,
      title,
      found,
      groupOf,
      isCompared: base !== undefined,
      marked: hovered.value ?? selected.value,
      widthPx: widthPx.value,
      heightPx,
    });
  }, [boxes, found, hovered.value, selected.value, colours, title]);
  const at = ({ offsetX, offsetY }: MouseEvent): number | undefined => {
    const depth = Math.floor(offsetY / ROW_PX);
    return boxes.find((it) => it.depth === depth && offsetX >= it.x && offsetX < it.x + it.width)?.node;
  };
  const zoom = (node: number): void => {
    focus.value = node;
    selected.value = node;
    hovered.value = undefined;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = neighbour(event.key, selected.value, boxes, tree.nodes);
    if (target !== undefined) {
      selected.value = target;
      hovered.value = undefined;
    } else if (event.key === 'Enter') zoom(selected.value);
    else if (event.key === 'Escape' && focus.value !== 0) zoom(0);
    else return;
    event.preventDefault();
  };
  const described = tree.nodes[hovered.value ?? selected.value] ?? tree.nodes[0];
  return (
    <div class="flame">
      <div class="flame-facts">
        <span aria-live="polite">
          <NodeText node={described} data={data} title={title} format={format} isCompared={base !== undefined} />
        </span>
        <button type="button" disabled={focus.value === 0} onClick={() => zoom(0)}>
          Reset zoom
        </button>
      </div>
      <div ref={box} class="flame-box">
        <canvas
          ref={canvas}
          role="application"
          aria-label={`Flame graph: ${title}, ${format(data.total)}. Arrow keys move, Enter zooms, Escape zooms out.`}
          tabIndex={0}
          style={{ width: `${widthPx.value}px`, height: `${heightPx}px` }}
          onMouseMove={(event) => (hovered.value = at(event))}
          onMouseLeave={() => (hovered.value = undefined)}
          onClick={(event) => {
            const node = at(event);
            if (node !== undefined) zoom(node);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
    </div>
  );
}

interface NodeTextProps {
  readonly node: FlameNode;
  readonly data: FlameData;
  readonly title: string;
  readonly format: (value: number) => string;
  readonly isCompared: boolean;
}

function NodeText({ node: { frame, value, self, base }, data, title, format, isCompared }: NodeTextProps) {
  const share = data.total === 0 ? 0 : (100 * value) / data.total;
  const before = data.total === 0 ? 0 : (100 * base) / data.total;
  const { name, file, line } = frame === -1 ? { name: title, file: '', line: 0 } : data.frames[frame];
  return (
    <>
      <b>{name}</b>{' '}
      {file !== '' && (
        <span class="dim">
          {file}
          {line === 0 ? '' : `:${line}`}
        </span>
      )}{' '}
      {format(value)} ({share.toFixed(share < 10 ? 2 : 1)} %){self === value ? '' : `, self ${format(self)}`}
      {isCompared && `, before ${before.toFixed(before < 10 ? 2 : 1)} %`}
    </>
  );
}

/** Returns the node that an arrow key moves to; undefined if there is none. */
function neighbour(
  key: string,
  selected: number,
  boxes: readonly FlameBox[],
  nodes: readonly FlameNode[],
): number | undefined {
  const { depth, parent } = nodes[selected];
  switch (key) {
    case 'ArrowUp':
      return parent === -1 ? undefined : parent;
    case 'ArrowDown':
      return boxes.find(({ node }) => nodes[node].parent === selected)?.node;
    case 'ArrowLeft':
      return boxes.findLast((it) => it.depth === depth && it.node < selected)?.node;
    case 'ArrowRight':
      return boxes.find((it) => it.depth === depth && it.node > selected)?.node;
    case 'Home':
      return 0;
    default:
      return undefined;
  }
}

interface Drawing {
  readonly boxes: readonly FlameBox[];
  readonly tree: readonly FlameNode[];
  readonly data: FlameData;
  readonly title: string;
  /** By frame: whether the search finds it. */
  readonly found: readonly boolean[];
  readonly groupOf: (frame: FlameFrame) => string;
  /** Whether colours show how nodes changed. */
  readonly isCompared: boolean;
  /** Node with a frame around it. */
  readonly marked: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

function draw(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const { boxes, tree, data, title, found, groupOf, isCompared, marked, widthPx, heightPx } = drawing;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(widthPx * ratio);
  canvas.height = Math.round(heightPx * ratio);
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(ratio, ratio);
  const [text, mark, accent, panel] = ['--text', '--mark', '--accent', '--panel'].map(colourOf);
  context.font = `12px ${getComputedStyle(canvas).fontFamily}`;
  context.textBaseline = 'middle';
  const isDarkNow = isDark();
  for (const { node, x, width, depth } of boxes) {
    const { frame, value, base } = tree[node];
    const y = depth * ROW_PX;
    const shown = frame === -1 ? { name: title, file: '', line: 0 } : data.frames[frame];
    const own = isCompared
      ? colourOfChange((value - base) / data.total, isDarkNow)
      : colourOfGroup(shown, groupOf, isDarkNow);
    context.fillStyle = frame === -1 ? panel : found[frame] ? mark : own;
    context.fillRect(x, y, Math.max(WIDTH_PX_MIN, width - 1), ROW_PX - 1);
    if (width >= LABEL_PX_MIN) {
      context.fillStyle = text;
      context.fillText(fitting(shown.name, width - 8), x + 4, y + ROW_PX / 2);
    }
    if (node === marked) {
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, width - 3), ROW_PX - 3);
    }
  }
}

const WIDTH_PX_MIN = 0.5;

function fitting(name: string, widthPx: number): string {
  const length = Math.floor(widthPx / CHARACTER_PX);
  if (name.length <= length) return name;
  return length <= 1 ? '' : `${name.slice(0, length - 1)}…`;
}

function folderOf({ file }: FlameFrame): string {
  return file.slice(0, Math.max(0, file.lastIndexOf('/')));
}

/** Functions of one group have one colour, on which the text of the theme has enough contrast. */
function colourOfGroup(frame: FlameFrame, groupOf: (frame: FlameFrame) => string, isDarkNow: boolean): string {
  if (frame.file === '') return isDarkNow ? 'hsl(215 8% 30%)' : 'hsl(215 12% 86%)';
  const group = groupOf(frame);
  let hash = 0;
  for (let i = 0; i < group.length; i++) hash = (hash * 31 + group.charCodeAt(i)) | 0;
  const hue = ((hash % 360) + 360) % 360;
  return isDarkNow ? `hsl(${hue} 38% 30%)` : `hsl(${hue} 70% 82%)`;
}

/** A change by this part of the profile, and every greater one, has the strongest colour. */
const CHANGE_MAX = 0.05;

/** What grew is red, what shrank is blue; what did not change is grey. @param change part of the whole, from -1 to 1. */
function colourOfChange(change: number, isDarkNow: boolean): string {
  const strength = Number.isFinite(change) ? Math.min(1, Math.abs(change) / CHANGE_MAX) : 0;
  const hue = change > 0 ? 8 : 215;
  const [saturation, lightness] = isDarkNow ? [55 * strength, 30] : [85 * strength, 90 - 12 * strength];
  return `hsl(${hue} ${saturation.toFixed(0)}% ${lightness.toFixed(0)}%)`;
}

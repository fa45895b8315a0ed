import './grid.css';

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { COPY_REFUSED } from './copy-button.js';
import { copyText } from './copy-text.js';
import { contentPx, ROW_PX, scrollToRow, visibleRows } from './grid-layout.js';

/** A column of a grid. */
export interface GridColumn {
  readonly name: string;
  /** Shown below the name. */
  readonly type?: string;
  /** Whether cells are aligned to the right. */
  readonly isNumber: boolean;
}

/** A cell as it is drawn. */
export interface GridCell {
  readonly text: string;
  /** Drawn dim and in italics: null, or an empty text. */
  readonly isSpecial?: boolean;
  /** More about the value, such as a time as its integer. */
  readonly hint?: string | undefined;
}

/** Which column a grid is sorted by. */
export interface GridSort {
  readonly column: number;
  readonly isDescending: boolean;
}

/** What a grid shows, and what it reports. */
export interface GridProps {
  readonly label: string;
  readonly columns: readonly GridColumn[];
  readonly rowCount: number;
  /** Number of the first columns that stay at the left while the others scroll sideways. */
  readonly pinnedCount?: number;
  readonly cell: (column: number, row: number) => GridCell;
  readonly sort?: GridSort | undefined;
  readonly onSort?: (column: number) => void;
  /** Called by Enter or a double click on a cell. */
  readonly onOpen?: (column: number, row: number) => void;
}

interface CellPlace {
  readonly row: number;
  readonly column: number;
}

const SAMPLED_ROWS = 50;
const CHARACTER_PX = 7.6;
const [WIDTH_PX_MIN, WIDTH_PX_MAX] = [70, 420];
const NUMBER_PX = 64;
const COPIED_ROWS_MAX = 100_000;

/** A table of any number of rows, of which those in view are in the document. */
export function Grid(props: GridProps) {
  const { label, columns, rowCount } = props;
  const box = useRef<HTMLDivElement>(null);
  const scrollPx = useSignal(0);
  const viewPx = useSignal(400);
  const widthPx = useSignal(1000);
  const active = useSignal<CellPlace>({ row: 0, column: 0 });
  const anchor = useSignal<CellPlace | undefined>(undefined);
  const resized = useSignal<ReadonlyMap<string, number>>(new Map());
  const copying = useCopying();
  const isEmpty = rowCount === 0;
  const natural = useMemo(() => columns.map((column, i) => naturalWidth(column, i, props)), [columns, isEmpty]);
  const widths = columns.map(({ name }, i) => resized.value.get(name) ?? natural[i]);
  const pinned = pinnedPlaces(widths, props.pinnedCount ?? 0, widthPx.value);
  const { first, end, topPx } = visibleRows(rowCount, scrollPx.value, viewPx.value);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      viewPx.value = Math.max(ROW_PX, element.clientHeight - HEAD_PX);
      widthPx.value = element.clientWidth;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const moveTo = (place: CellPlace, extends_: boolean): void => {
    const row = Math.max(0, Math.min(rowCount - 1, place.row));
    const column = Math.max(0, Math.min(columns.length - 1, place.column));
    anchor.value = extends_ ? (anchor.value ?? active.value) : undefined;
    active.value = { row, column };
    const element = box.current;
    if (element === null) return;
    element.scrollTop = scrollToRow(rowCount, row, element.scrollTop, viewPx.value);
    if (column < pinned.length) return;
    const left = sumOf(widths.slice(0, column));
    const hiddenPx = left - sumOf(widths.slice(0, pinned.length));
    if (hiddenPx < element.scrollLeft) element.scrollLeft = hiddenPx;
    const right = left + widths[column] + NUMBER_PX - element.clientWidth;
    if (right > element.scrollLeft) element.scrollLeft = right;
  };
  const selected = selectionOf(active.value, anchor.value);
  const onKeyDown = (event: KeyboardEvent): void => {
    copying.hideNotice();
    const target = keyTarget(event, active.value, Math.floor(viewPx.value / ROW_PX), rowCount, columns.length);
    const isCommand = event.ctrlKey || event.metaKey;
    if (target !== undefined) moveTo(target, event.shiftKey);
    else if (event.key === 'Enter') props.onOpen?.(active.value.column, active.value.row);
    else if (isCommand && event.key === 'c') void copying.copy(selectionText(props, selected));
    else if (isCommand && event.key === 'a') {
      anchor.value = { row: 0, column: 0 };
      active.value = { row: rowCount - 1, column: columns.length - 1 };
    } else return;
    event.preventDefault();
  };
  const rows = Array.from({ length: end - first }, (_, i) => first + i);
  const template = `${NUMBER_PX}px ${widths.map((width) => `${width}px`).join(' ')}`;
  return (
    <>
      {copying.notice}
      <div
        ref={box}
        class="grid"
        role="grid"
        aria-label={label}
        aria-rowcount={rowCount + 1}
        aria-colcount={columns.length}
        aria-multiselectable="true"
        aria-activedescendant={isEmpty ? undefined : `${label}-${active.value.row}-${active.value.column}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget }) => (scrollPx.value = currentTarget.scrollTop)}
      >
        <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
          <span class={pinned.length > 0 ? 'grid-number pinned' : 'grid-number'} aria-hidden="true" />
          {columns.map((column, i) => (
            <HeadCell
              key={i}
              column={column}
              index={i}
              props={props}
              onWidth={(width) => (resized.value = new Map(resized.value).set(column.name, width))}
              widthPx={widths[i]}
              leftPx={pinned.at(i)}
            />
          ))}
        </div>
        <div class="grid-body" role="rowgroup" style={{ height: `${contentPx(rowCount)}px` }}>
          <div class="grid-window" role="presentation" style={{ transform: `translateY(${topPx}px)` }}>
            {rows.map((row) => (
              <Row
                key={row}
                row={row}
                props={props}
                template={template}
                pinned={pinned}
                active={active.value}
                selected={selected}
                onChoose={moveTo}
              />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

/** Copies texts, and has a notice if the browser refuses. */
function useCopying() {
  const hasFailed = useSignal(false);
  return {
    copy: async (text: string): Promise<void> => {
      hasFailed.value = !(await copyText(text));
    },
    hideNotice: () => (hasFailed.value = false),
    notice: hasFailed.value && (
      <p class="error grid-notice" role="alert">
        {COPY_REFUSED}
      </p>
    ),
  };
}

interface RowProps {
  readonly row: number;
  readonly props: GridProps;
  readonly template: string;
  /** Where the pinned columns are, in pixels. */
  readonly pinned: readonly number[];
  readonly active: CellPlace;
  readonly selected: Selection;
  readonly onChoose: (place: CellPlace, extends_: boolean) => void;
}

function Row({ row, props, template, pinned, active, selected, onChoose }: RowProps) {
  return (
    <div class="grid-row" role="row" aria-rowindex={row + 2} style={{ gridTemplateColumns: template }}>
      <span class={pinned.length > 0 ? 'grid-number pinned' : 'grid-number'} aria-hidden="true">
        {row + 1}
      </span>
      {props.columns.map((column, i) => {
        const { text, isSpecial = false, hint } = props.cell(i, row);
        return (
          <span
            key={i}
            id={`${props.label}-${row}-${i}`}
            role="gridcell"
            aria-colindex={i + 1}
            aria-selected={isWithin(selected, row, i)}
            class={classOf({
              number: column.isNumber,
              special: isSpecial,
              active: active.row === row && active.column === i,
              pinned: i < pinned.length,
            })}
            style={leftOf(pinned.at(i))}
            title={hint}
            onMouseDown={(event) => onChoose({ row, column: i }, event.shiftKey)}
            onDblClick={() => props.onOpen?.(i, row)}
          >
            {text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX)}…` : text}
          </span>
        );
      })}
    </div>
  );
}

const HEAD_PX = 40;
/** More would not be in view, and long texts in many cells make scrolling slow. */
const CELL_LENGTH_MAX = 300;

interface HeadProps {
  readonly column: GridColumn;
  readonly index: number;
  readonly props: GridProps;
  readonly widthPx: number;
  /** Where the column is pinned; undefined: it scrolls. */
  readonly leftPx: number | undefined;
  readonly onWidth: (widthPx: number) => void;
}

function HeadCell({ column, index, props, widthPx, leftPx, onWidth }: HeadProps) {
  const { sort, onSort } = props;
  const isSorted = sort?.column === index;
  const direction = !isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending';
  const drag = (event: PointerEvent): void => {
    const startPx = event.clientX;
    const handle = event.currentTarget as HTMLElement;
    handle.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => onWidth(Math.max(40, widthPx + moved.clientX - startPx));
    handle.addEventListener('pointermove', move);
    handle.addEventListener('pointerup', () => handle.removeEventListener('pointermove', move), { once: true });
    event.preventDefault();
  };
  const mark = direction === 'none' ? '' : direction === 'ascending' ? ' ▲' : ' ▼';
  return (
    <span
      role="columnheader"
      aria-colindex={index + 1}
      aria-sort={direction}
      class={classOf({ number: column.isNumber, pinned: leftPx !== undefined })}
      style={leftOf(leftPx)}
    >
      {onSort === undefined ? (
        <span class="grid-name">{column.name}</span>
      ) : (
        <button type="button" class="plain grid-name" tabIndex={-1} onClick={() => onSort(index)} title={column.name}>
          {column.name + mark}
        </button>
      )}
      <span class="grid-type">{column.type}</span>
      <span class="grid-handle" onPointerDown={drag} aria-hidden="true" />
    </span>
  );
}

interface Selection {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

function selectionOf(active: CellPlace, anchor: CellPlace | undefined): Selection {
  const other = anchor ?? active;
  return {
    top: Math.min(active.row, other.row),
    bottom: Math.max(active.row, other.row),
    left: Math.min(active.column, other.column),
    right: Math.max(active.column, other.column),
  };
}

function isWithin({ top, bottom, left, right }: Selection, row: number, column: number): boolean {
  return row >= top && row <= bottom && column >= left && column <= right;
}

/** Returns the selected cells as text with tabs, as spreadsheets paste it. */
function selectionText({ cell }: GridProps, { top, bottom, left, right }: Selection): string {
  const lines: string[] = [];
  for (let row = top; row <= Math.min(bottom, top + COPIED_ROWS_MAX); row++) {
    const cells: string[] = [];
    for (let column = left; column <= right; column++) cells.push(cell(column, row).text.replace(/[\t\r\n]+/g, ' '));
    lines.push(cells.join('\t'));
  }
  return lines.join('\n');
}

/** Returns the cell that a key moves to; undefined if it moves nowhere. */
function keyTarget(
  event: KeyboardEvent,
  { row, column }: CellPlace,
  pageRows: number,
  rowCount: number,
  columnCount: number,
): CellPlace | undefined {
  const isCommand = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case 'ArrowDown':
      return { row: row + 1, column };
    case 'ArrowUp':
      return { row: row - 1, column };
    case 'ArrowRight':
      return { row, column: column + 1 };
    case 'ArrowLeft':
      return { row, column: column - 1 };
    case 'PageDown':
      return { row: row + pageRows, column };
    case 'PageUp':
      return { row: row - pageRows, column };
    case 'Home':
      return isCommand ? { row: 0, column: 0 } : { row, column: 0 };
    case 'End':
      return isCommand ? { row: rowCount - 1, column: columnCount - 1 } : { row, column: columnCount - 1 };
    default:
      return undefined;
  }
}

function naturalWidth({ name, type = '' }: GridColumn, column: number, { rowCount, cell }: GridProps): number {
  let length = Math.max(name.length + 2, type.length * 0.85);
  for (let row = 0; row < Math.min(rowCount, SAMPLED_ROWS); row++) {
    length = Math.max(length, cell(column, row).text.length);
  }
  return Math.max(WIDTH_PX_MIN, Math.min(WIDTH_PX_MAX, Math.ceil(length * CHARACTER_PX) + 20));
}

/** Part of the width of a grid that pinned columns take at most: others must stay in view beside them. */
const PINNED_SHARE = 0.6;

/** Returns where pinned columns are, in pixels: fewer than were pinned if the grid is narrow. */
function pinnedPlaces(widths: readonly number[], count: number, widthPx: number): readonly number[] {
  const places: number[] = [];
  let px = NUMBER_PX;
  for (const width of widths.slice(0, count)) {
    if (px + width > widthPx * PINNED_SHARE) break;
    places.push(px);
    px += width;
  }
  return places;
}

function leftOf(px: number | undefined): { readonly left: string } | undefined {
  return px === undefined ? undefined : { left: `${px}px` };
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0);
}

function classOf(classes: Readonly<Record<string, boolean>>): string {
  return Object.keys(classes)
    .filter((name) => classes[name])
    .join(' ');
}

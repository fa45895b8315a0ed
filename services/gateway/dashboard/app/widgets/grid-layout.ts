/** Height of a row of a grid in pixels. */
export const ROW_PX = 24;
/** Browsers limit the height of an element to 33 million pixels; above this one the scroll position is scaled. */
const HEIGHT_PX_MAX = 500_000 * ROW_PX;

/** Which rows of a grid are in view, and where the first is drawn. */
export interface VisibleRows {
  readonly first: number;
  /** After the last one. */
  readonly end: number;
  /** Pixels from the top of the scrolled content to the top of the first row. */
  readonly topPx: number;
}

/** Returns the height of the scrolled content of a grid, in pixels. */
export function contentPx(rowCount: number): number {
  return Math.min(rowCount * ROW_PX, HEIGHT_PX_MAX);
}

/** Returns the rows that are in view at a scroll position. */
export function visibleRows(rowCount: number, scrollPx: number, viewPx: number): VisibleRows {
  const at = realPx(rowCount, scrollPx, viewPx);
  const first = Math.max(0, Math.min(Math.floor(at / ROW_PX), rowCount - 1));
  const end = Math.min(rowCount, first + Math.ceil(viewPx / ROW_PX) + 1);
  return { first, end, topPx: scrollPx - (at - first * ROW_PX) };
}

/** Returns the scroll position that shows a row, as near to the current one as possible. */
export function scrollToRow(rowCount: number, row: number, scrollPx: number, viewPx: number): number {
  const at = realPx(rowCount, scrollPx, viewPx);
  const [top, bottom] = [row * ROW_PX, (row + 1) * ROW_PX];
  if (top >= at && bottom <= at + viewPx) return scrollPx;
  const target = Math.max(0, top < at ? top : bottom - viewPx);
  return target / scaleOf(rowCount, viewPx);
}

function realPx(rowCount: number, scrollPx: number, viewPx: number): number {
  return scrollPx * scaleOf(rowCount, viewPx);
}

function scaleOf(rowCount: number, viewPx: number): number {
  const scrollable = contentPx(rowCount) - viewPx;
  return scrollable <= 0 ? 1 : (rowCount * ROW_PX - viewPx) / scrollable;
}

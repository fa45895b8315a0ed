import { COLUMN_COUNT, type PanelPlace } from './document.js';

/**
 * Moves panels down until none is over another, then up as far as there is room.
 *
 * @param first index of the panel that keeps its place before others; undefined: by their rows.
 */
export function settled<P extends PanelPlace>(panels: readonly P[], first?: number): P[] {
  const order = [...panels.keys()].sort((a, b) => {
    const [left, right] = [panels[a], panels[b]];
    return left.y - right.y || Number(b === first) - Number(a === first) || left.x - right.x || a - b;
  });
  const placed: P[] = [];
  const result = [...panels];
  for (const index of order) {
    const panel = fitting(panels[index]);
    let y = 0;
    // The lowest panel that is in the way of the columns is what it rests on.
    for (const other of placed) if (sharesColumns(panel, other)) y = Math.max(y, other.y + other.h);
    result[index] = { ...panel, y };
    placed.push(result[index]);
  }
  return result;
}

/** Returns a free place for another panel: beside the last one of the lowest row, or else below all panels. */
export function nextPlace(panels: readonly PanelPlace[], w: number, h: number): PanelPlace {
  const last = panels.toSorted((a, b) => a.y - b.y || a.x - b.x).at(-1);
  if (last !== undefined && last.x + last.w + w <= COLUMN_COUNT) {
    const beside = { x: last.x + last.w, y: last.y, w, h };
    // Panels of higher rows may reach down to this one.
    if (!panels.some((panel) => sharesColumns(panel, beside) && panel.y + panel.h > beside.y)) return beside;
  }
  return { x: 0, y: Math.max(0, ...panels.map((panel) => panel.y + panel.h)), w, h };
}

/** Whether a panel has the place and the size of another one. */
export function isSamePlace(one: PanelPlace, other: PanelPlace): boolean {
  return one.x === other.x && one.y === other.y && one.w === other.w && one.h === other.h;
}

function fitting<P extends PanelPlace>(panel: P): P {
  const w = Math.max(1, Math.min(COLUMN_COUNT, panel.w));
  return { ...panel, w, x: Math.max(0, Math.min(COLUMN_COUNT - w, panel.x)) };
}

function sharesColumns(one: PanelPlace, other: PanelPlace): boolean {
  return one.x < other.x + other.w && other.x < one.x + one.w;
}

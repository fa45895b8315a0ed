import { useSignal } from '@preact/signals';

import { linkTo } from '../../core/route.js';
import { lazyComponent } from '../../widgets/lazy.js';
import { PANEL_ROW_PX, type Panel } from './document.js';
import { expanded, type MacroValues } from './macros.js';
import { PanelDialog } from './panel-form.js';

// Charts are loaded after the frame of the screen is drawn.
const PanelView = lazyComponent(async () => (await import('./panel-view.js')).PanelView);

/** A panel, and what is done with it. */
export interface PanelFrameProps {
  readonly panel: Panel;
  readonly values: MacroValues;
  readonly loadKey: string;
  readonly isEditing: boolean;
  /** Called with the members that change. */
  readonly onChange: (changes: Partial<Panel>) => void;
  readonly onCopy: () => void;
  readonly onRemove: () => void;
}

/** What the arrow keys do with a panel, alone and with Shift. */
const STEPS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** A panel at its place. While it is edited, arrows move it, and with Shift change its size; the pointer does both. */
export function PanelFrame({ panel, values, loadKey, isEditing, onChange, onCopy, onRemove }: PanelFrameProps) {
  const { title, x, y, w, h } = panel;
  const isOpen = useSignal(false);
  const move = (event: KeyboardEvent): void => {
    if (!Object.hasOwn(STEPS, event.key)) return;
    const [dx, dy] = STEPS[event.key];
    event.preventDefault();
    onChange(event.shiftKey ? resized(panel, dx, dy) : { x: Math.max(0, x + dx), y: Math.max(0, y + dy) });
  };
  const name = title === '' ? 'Panel without a title' : title;
  return (
    <section
      class="panel dashboard-panel"
      aria-label={name}
      style={{ gridColumn: `${x + 1} / span ${w}`, gridRow: `${y + 1} / span ${h}` }}
    >
      <div class="row tight">
        {isEditing ? (
          <button
            type="button"
            class="plain panel-handle"
            title="Arrows move the panel, Shift and arrows change its size"
            onKeyDown={move}
            onPointerDown={(event) =>
              drag(event, ([dx, dy]) => onChange({ x: Math.max(0, x + dx), y: Math.max(0, y + dy) }))
            }
          >
            <bdi>{name}</bdi>
          </button>
        ) : (
          <h2>
            <bdi>{title}</bdi>
          </h2>
        )}
        <span class="grow" />
        {isEditing ? (
          <>
            <button type="button" class="plain" onClick={() => (isOpen.value = true)}>
              Change
            </button>
            <button type="button" class="plain" onClick={onCopy}>
              Copy
            </button>
            <button type="button" class="plain" onClick={onRemove}>
              Remove
            </button>
          </>
        ) : (
          panel.queries.length > 0 && <a href={queryLink(panel, values)}>Open in Query</a>
        )}
      </div>
      {isEditing && isOpen.value && (
        <PanelDialog panel={panel} onChange={onChange} onClose={() => (isOpen.value = false)} />
      )}
      <PanelView panel={panel} values={values} loadKey={loadKey} />
      {isEditing && (
        <span
          class="panel-corner"
          aria-hidden="true"
          onPointerDown={(event) => drag(event, ([dx, dy]) => onChange(resized(panel, dx, dy)))}
        />
      )}
    </section>
  );
}

function resized({ w, h }: Panel, dx: number, dy: number): Partial<Panel> {
  return { w: Math.max(1, w + dx), h: Math.max(2, h + dy) };
}

/** Follows the pointer until it is released. @param onMoved called with the way in columns and rows, when it has changed. */
function drag(event: PointerEvent, onMoved: (way: readonly [dx: number, dy: number]) => void): void {
  const handle = event.currentTarget as HTMLElement;
  const grid = handle.closest<HTMLElement>('.panel-grid');
  if (grid === null || event.button !== 0) return;
  const columnPx = grid.clientWidth / 12;
  const [startX, startY] = [event.clientX, event.clientY];
  const end = new AbortController();
  handle.setPointerCapture(event.pointerId);
  handle.addEventListener(
    'pointerup',
    ({ clientX, clientY }) => {
      end.abort();
      const way = [Math.round((clientX - startX) / columnPx), Math.round((clientY - startY) / PANEL_ROW_PX)] as const;
      if (way[0] !== 0 || way[1] !== 0) onMoved(way);
    },
    { signal: end.signal },
  );
  handle.addEventListener('pointercancel', () => end.abort(), { signal: end.signal });
}

function queryLink({ mode, queries }: Panel, values: MacroValues): string {
  const separator = mode === 'sql' ? ';\n' : ' or ';
  const q = queries.map((query) => expanded(query.q, mode, values)).join(separator);
  return linkTo('query', { mode: mode === 'sql' ? undefined : mode, q, view: 'chart' });
}

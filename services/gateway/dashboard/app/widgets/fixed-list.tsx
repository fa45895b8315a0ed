import './virtual-list.css';

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import type { VirtualListControl } from './virtual-list.js';

/** What a list of equally high rows shows, and what it reports. */
interface FixedListProps {
  readonly label: string;
  readonly role: 'tree';
  readonly count: number;
  /** Height of each row, in pixels. */
  readonly rowPx: number;
  /** Unique name of a row. */
  readonly keyOf: (index: number) => string;
  /** Draws a row: an element with the role that belongs to that of the list. */
  readonly row: (index: number) => ComponentChildren;
  readonly control: { current: VirtualListControl | undefined };
  /** ID of the element of the active row, while the list has the focus. */
  readonly activeId: string | undefined;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

const OVERSCAN = 10;
/** Browsers make no element higher than this. */
const HEIGHT_PX_MAX = 33_000_000;

/** A list of equally high rows, of which those in view are in the document. Any number of rows takes no time to lay out. */
export function FixedList({ label, role, count, rowPx, keyOf, row, control, activeId, onKeyDown }: FixedListProps) {
  const box = useRef<HTMLDivElement>(null);
  const scrollPx = useSignal(0);
  const viewPx = useSignal(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => (viewPx.value = element.clientHeight));
    observer.observe(element);
    viewPx.value = element.clientHeight;
    return () => observer.disconnect();
  }, []);
  control.current = {
    scrollTo: (index) => {
      const element = box.current;
      if (element === null || index < 0) return;
      const topPx = index * rowPx;
      const bottomPx = topPx + rowPx - element.clientHeight;
      if (topPx < element.scrollTop) element.scrollTop = topPx;
      else if (bottomPx > element.scrollTop) element.scrollTop = bottomPx;
      scrollPx.value = element.scrollTop;
    },
  };
  const first = Math.max(0, Math.min(count, Math.floor(scrollPx.value / rowPx)) - OVERSCAN);
  const end = Math.min(count, Math.ceil((scrollPx.value + viewPx.value) / rowPx) + OVERSCAN);
  return (
    <div
      ref={box}
      class="virtual-list wrapped"
      tabIndex={0}
      role={role}
      aria-label={label}
      aria-activedescendant={activeId}
      onScroll={({ currentTarget }) => (scrollPx.value = currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${Math.min(HEIGHT_PX_MAX, count * rowPx)}px` }}>
        <div class="virtual-window" role="presentation" style={{ transform: `translateY(${first * rowPx}px)` }}>
          {Array.from({ length: Math.max(0, end - first) }, (_, i) => (
            <div key={keyOf(first + i)} role="presentation">
              {row(first + i)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

import './virtual-list.css';

import { useSignal } from '@preact/signals';
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** What the owner of a list can do with it. */
export interface VirtualListControl {
  /** Scrolls as little as possible until a row is in view. */
  readonly scrollTo: (index: number) => void;
}

/** What a list shows, and what it reports. */
export interface VirtualListProps {
  readonly label: string;
  readonly count: number;
  /** Height of a row before it is drawn, in pixels. */
  readonly estimatePx: number;
  /** Unique name of a row. Another function makes the list compute all places again, so it must stay the same for the same rows. */
  readonly keyOf: (index: number) => string;
  /** Draws a row: an element with the role `listitem`, or that of `rowRole`. */
  readonly row: (index: number) => ComponentChildren;
  /** Default: a list. */
  readonly role?: 'list' | 'tree';
  /** Whether rows are as wide as the list, instead of as wide as their texts. */
  readonly isWrapped?: boolean;
  /** A new value scrolls to the first row. */
  readonly topKey?: string;
  /** Whether the last row stays in view when rows are added. */
  readonly isFollowing?: boolean;
  /** Called when the user leaves the end of the list, or returns to it. */
  readonly onFollowing?: (isFollowing: boolean) => void;
  readonly control?: { current: VirtualListControl | undefined };
  /** ID of the element of the active row, while the list has the focus. */
  readonly activeId?: string | undefined;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

const OVERSCAN = 10;
/** Nearer to the end than this is at the end. */
const END_PX = 30;

/** A list of rows of any height, of which those in view are in the document. */
export function VirtualList(props: VirtualListProps) {
  const { label, count, keyOf, row, role = 'list', isWrapped = false, isFollowing = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const lastTop = useRef(0);
  const version = useSignal(0);
  const held = useRef<Virtualizer<HTMLDivElement, HTMLElement> | undefined>(undefined);
  const estimate = useRef(() => props.estimatePx);
  const options = {
    count,
    getScrollElement: () => box.current,
    estimateSize: estimate.current,
    getItemKey: keyOf,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    overscan: OVERSCAN,
    onChange: () => version.value++,
  };
  held.current ??= new Virtualizer<HTMLDivElement, HTMLElement>(options);
  const virtualizer = held.current;
  virtualizer.setOptions(options);
  // Drawn again when the rows in view change.
  void version.value;
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => {
    virtualizer._willUpdate();
    if (props.control !== undefined) {
      props.control.current = { scrollTo: (index) => virtualizer.scrollToIndex(index, { align: 'auto' }) };
    }
    if (isFollowing && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  });
  useLayoutEffect(() => {
    if (!isFollowing) box.current?.scrollTo({ top: 0 });
  }, [props.topKey]);
  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    const { scrollTop, scrollHeight, clientHeight } = currentTarget;
    const isAtEnd = scrollHeight - clientHeight - scrollTop < END_PX;
    // Rows that turn out higher move the end away without the user.
    const isLeaving = scrollTop < lastTop.current && !isAtEnd;
    lastTop.current = scrollTop;
    if (isLeaving && isFollowing) props.onFollowing?.(false);
    else if (isAtEnd && !isFollowing) props.onFollowing?.(true);
  };
  const items = virtualizer.getVirtualItems();
  return (
    <div
      ref={box}
      class={isWrapped ? 'virtual-list wrapped' : 'virtual-list'}
      tabIndex={0}
      role={role}
      aria-label={label}
      aria-activedescendant={props.activeId}
      onScroll={onScroll}
      onKeyDown={props.onKeyDown}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        <div class="virtual-window" role="presentation" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
          {items.map(({ key, index }) => (
            <div
              key={String(key)}
              role="presentation"
              data-index={index}
              ref={(element) => virtualizer.measureElement(element)}
            >
              {row(index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

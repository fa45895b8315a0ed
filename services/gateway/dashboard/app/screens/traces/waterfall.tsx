import { useCallback, useMemo } from 'preact/hooks';

import { groupBy } from '../../core/group-by.js';
import { hasLetterKeys } from '../../shell/keys.js';
import { Icon } from '../../widgets/icons.js';
import { FixedList } from '../../widgets/fixed-list.js';
import type { VirtualListControl } from '../../widgets/virtual-list.js';
import type { PathSection } from './critical-path.js';
import { microsecondText } from './duration.js';
import { serviceClass } from './service-colours.js';
import type { SpanNode, SpanTree } from './span-tree.js';

const ROW_PX = 26;
const TICKS = [0, 0.25, 0.5, 0.75];
/** Deeper spans are not indented further. */
const INDENTED_MAX = 24;

interface WaterfallProps {
  readonly tree: SpanTree;
  /** Nodes that are shown, in order. */
  readonly rows: readonly number[];
  readonly collapsed: ReadonlySet<number>;
  readonly onCollapsed: (nodes: ReadonlySet<number>) => void;
  readonly path: readonly PathSection[];
  readonly found: readonly number[];
  /** -1: none. */
  readonly selected: number;
  readonly onSelect: (node: number) => void;
  readonly fromUs: number;
  readonly toUs: number;
  readonly control: { current: VirtualListControl | undefined };
}

/** The spans of a trace below each other, each with a bar for its time. */
export function Waterfall(props: WaterfallProps) {
  const { tree, rows, collapsed, onCollapsed, path, found, selected, onSelect, fromUs, toUs, control } = props;
  const sections = useMemo(() => groupBy(path, ({ node }) => node), [path]);
  const keyOf = useCallback((index: number) => String(rows[index]), [rows]);
  const foundSet = useMemo(() => new Set(found), [found]);
  const toggle = (node: number, isCollapsed: boolean): void => {
    const all = new Set(collapsed);
    if (isCollapsed) all.add(node);
    else all.delete(node);
    onCollapsed(all);
  };
  const moveTo = (row: number): void => {
    const index = Math.max(0, Math.min(rows.length - 1, row));
    onSelect(rows[index]);
    control.current?.scrollTo(index);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = rows.indexOf(selected);
    const target = rowOfKey(event.key, at, rows.length);
    if (target !== undefined) moveTo(target);
    else if (at >= 0 && event.key === 'ArrowRight') toggle(selected, false);
    else if (at >= 0 && event.key === 'ArrowLeft') {
      const isOpen = tree.nodes[selected].descendantCount > 0 && !collapsed.has(selected);
      if (isOpen) toggle(selected, true);
      else moveTo(rows.indexOf(tree.nodes[selected].parent));
    } else return;
    event.preventDefault();
  };
  return (
    <section class="waterfall" aria-label="Spans over time">
      <div class="waterfall-head" aria-hidden="true">
        <span>Service and operation</span>
        <span class="ticks">
          {TICKS.map((share) => (
            <span key={share} style={{ left: `${share * 100}%` }}>
              {microsecondText(Math.round(fromUs - tree.startUs + share * (toUs - fromUs)))}
            </span>
          ))}
        </span>
      </div>
      <FixedList
        label="Spans"
        role="tree"
        count={rows.length}
        rowPx={ROW_PX}
        keyOf={keyOf}
        activeId={selected < 0 ? undefined : `span-${selected}`}
        control={control}
        onKeyDown={onKeyDown}
        row={(index) => {
          const node = rows[index];
          return (
            <SpanRow
              index={node}
              node={tree.nodes[node]}
              tree={tree}
              sections={sections.get(node) ?? NO_SECTIONS}
              isFound={foundSet.has(node)}
              isSelected={node === selected}
              isCollapsed={collapsed.has(node)}
              onToggle={toggle}
              onSelect={onSelect}
              fromUs={fromUs}
              toUs={toUs}
            />
          );
        }}
      />
    </section>
  );
}

const NO_SECTIONS: readonly PathSection[] = [];

interface SpanRowProps {
  readonly index: number;
  readonly node: SpanNode;
  readonly tree: SpanTree;
  readonly sections: readonly PathSection[];
  readonly isFound: boolean;
  readonly isSelected: boolean;
  readonly isCollapsed: boolean;
  readonly onToggle: (node: number, isCollapsed: boolean) => void;
  readonly onSelect: (node: number) => void;
  readonly fromUs: number;
  readonly toUs: number;
}

function SpanRow(props: SpanRowProps) {
  const { index, node, tree, sections, isFound, isSelected, isCollapsed, onToggle, onSelect, fromUs, toUs } = props;
  const { span, service, isError, depth, descendantCount } = node;
  const length = toUs - fromUs;
  const place = (startUs: number, endUs: number) => {
    const left = Math.max(0, Math.min(1, (startUs - fromUs) / length));
    const right = Math.max(0, Math.min(1, (endUs - fromUs) / length));
    return { left: `${left * 100}%`, width: `${(right - left) * 100}%` };
  };
  const isInView = node.endUs >= fromUs && node.startUs <= toUs;
  const hasChildren = descendantCount > 0;
  return (
    <div
      id={`span-${index}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={hasChildren ? !isCollapsed : undefined}
      aria-selected={isSelected}
      class={`span-row${isSelected ? ' selected' : ''}${isFound ? ' found' : ''}`}
      onClick={() => onSelect(index)}
    >
      <span class="span-name" style={{ paddingLeft: `${Math.min(depth, INDENTED_MAX) * 14}px` }}>
        <span
          class={hasChildren ? 'span-toggle' : 'span-toggle none'}
          aria-hidden="true"
          onClick={(event) => {
            if (!hasChildren) return;
            event.stopPropagation();
            onToggle(index, !isCollapsed);
          }}
        >
          {hasChildren && <Icon name="chevron" />}
        </span>
        <span class={`swatch ${serviceClass(service, tree.services)}`} aria-hidden="true" />
        {isError && (
          <span class="span-error" title="Error">
            !<span class="visually-hidden">error</span>
          </span>
        )}
        <bdi class="span-service">{service}</bdi>
        <bdi class="dim span-operation">{span.operationName}</bdi>
        {isCollapsed && <span class="dim">+{descendantCount}</span>}
      </span>
      <span class="span-time">
        {TICKS.slice(1).map((share) => (
          <span key={share} class="tick" style={{ left: `${share * 100}%` }} />
        ))}
        {isInView && (
          <>
            <span
              class={`span-bar ${serviceClass(service, tree.services)}${isError ? ' failed' : ''}`}
              style={place(node.startUs, node.endUs)}
            />
            {sections.map(({ fromUs: from, toUs: to }) => (
              <span key={from} class="span-critical" style={place(from, to)} />
            ))}
            <span
              class="span-duration"
              style={durationPlace((node.startUs - fromUs) / length, (node.endUs - fromUs) / length)}
            >
              {microsecondText(span.duration)}
            </span>
          </>
        )}
      </span>
    </div>
  );
}

/** Returns where the duration of a span is written: after its bar, else before it, else on its end. Places are shares. */
function durationPlace(start: number, end: number) {
  if (end < 0.88) return { left: `calc(${Math.max(0, end) * 100}% + 4px)` };
  if (start > 0.12) return { right: `calc(${(1 - Math.min(1, start)) * 100}% + 4px)` };
  return { right: '6px' };
}

/** Returns the row that a key moves to; undefined if it moves nowhere. @param at the current one; -1: none. */
function rowOfKey(key: string, at: number, count: number): number | undefined {
  if (key === 'ArrowDown' || (key === 'j' && hasLetterKeys.value)) return at + 1;
  if (key === 'ArrowUp' || (key === 'k' && hasLetterKeys.value)) return at - 1;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : undefined;
}

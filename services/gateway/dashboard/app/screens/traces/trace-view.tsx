import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';

import { RequestError } from '../../core/http.js';
import { yieldToPage } from '../../core/yield.js';
import { parameter, setParameters } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { counted } from '../../format/counted.js';
import { countText } from '../../format/numbers.js';
import { hasLetterKeys } from '../../shell/keys.js';
import { civilOf, civilText } from '../../time/civil.js';
import { reloadCount } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { Icon } from '../../widgets/icons.js';
import { lazyComponent } from '../../widgets/lazy.js';
import type { VirtualListControl } from '../../widgets/virtual-list.js';
import { FailureText } from '../../widgets/failure-text.js';
import { criticalPathInSlices, type PathSection } from './critical-path.js';
import { microsecondText } from './duration.js';
import { loadTrace } from './jaeger.js';
import { Minimap } from './minimap.js';
import { serviceClass } from './service-colours.js';
import { SpanPanel } from './span-panel.js';
import { findSpans } from './span-search.js';
import { depthOf, nodesAtDepth, nodesOfService, spanTreeInSlices, visibleNodes, type SpanTree } from './span-tree.js';
import { findText, openTrace, setZoom, spanId, traceViewName, zoom, type TraceViewName } from './traces-state.js';
import { Waterfall } from './waterfall.js';

/** One trace: loads it, and shows it. */
export function TraceView({ id }: { readonly id: string }) {
  const { value: loaded, failure } = useLoaded((signal) => loadTree(id, signal), [id, database(), reloadCount.value]);
  const tree = loaded?.tree;
  return (
    <>
      <div class="row trace-head">
        <button type="button" onClick={() => openTrace(undefined)}>
          <Icon name="back" /> Search
        </button>
        {tree !== undefined && <TraceTitle tree={tree} />}
        <span class="grow" />
        {tree !== undefined && <ViewButtons />}
      </div>
      <FailureText text={failure} />
      {tree === undefined && failure === '' && <p class="loading">Loading…</p>}
      {loaded !== undefined && <LoadedView key={loaded.tree.traceId} {...loaded} />}
    </>
  );
}

const LazyFlame = lazyComponent(async () => (await import('./views/flame-view.js')).TraceFlameView);
const LazyStatistics = lazyComponent(async () => (await import('./views/statistics-view.js')).TraceStatisticsView);

function LoadedView({ tree, path }: LoadedTrace) {
  switch (traceViewName.value) {
    case 'flame':
      return <LazyFlame tree={tree} />;
    case 'statistics':
      return <LazyStatistics tree={tree} />;
    case 'waterfall':
      return <TraceBody tree={tree} path={path} />;
  }
}

const VIEW_TITLES: Readonly<Record<TraceViewName, string>> = {
  waterfall: 'Waterfall',
  flame: 'Flame graph',
  statistics: 'Statistics',
};

function ViewButtons() {
  return (
    <div class="row tight trace-views" role="group" aria-label="View">
      {(Object.keys(VIEW_TITLES) as TraceViewName[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={traceViewName.value === name}
          onClick={() => setParameters({ view: name === 'waterfall' ? undefined : name })}
        >
          {VIEW_TITLES[name]}
        </button>
      ))}
    </div>
  );
}

/** A trace, and which spans decide how long it takes. */
interface LoadedTrace {
  readonly tree: SpanTree;
  readonly path: readonly PathSection[];
}

async function loadTree(id: string, signal: AbortSignal): Promise<LoadedTrace> {
  const trace = await loadTrace(id, signal).catch((error: unknown) => {
    const isMissing = error instanceof RequestError && error.status === 404;
    throw isMissing ? new Error(`The database ${database()} has no trace ${id}.`) : error;
  });
  const tree = await spanTreeInSlices(trace, yieldToPage);
  const path = await criticalPathInSlices(tree, yieldToPage);
  signal.throwIfAborted();
  return { tree, path };
}

function TraceTitle({ tree }: { readonly tree: SpanTree }) {
  const [root] = tree.nodes;
  const facts = [
    microsecondText(tree.endUs - tree.startUs),
    counted(tree.nodes.length, 'span'),
    counted(tree.services.length, 'service'),
    civilText(civilOf(Math.floor(tree.startUs / 1000), zone.value), 3),
  ];
  return (
    <>
      <h2>
        <bdi>{root?.service}</bdi> <bdi>{root?.span.operationName}</bdi>
      </h2>
      <span>{facts.join(' · ')}</span>
      {tree.errorCount > 0 && <span class="bad">{counted(tree.errorCount, 'error')}</span>}
      {tree.orphanCount > 0 && (
        <span class="warn" title="Their parents are not stored: they are shown as roots">
          {counted(tree.orphanCount, 'span')} without their parent
        </span>
      )}
      <code class="dim">{tree.traceId}</code>
    </>
  );
}

/** Spans up to which the address lists those whose children are not shown. */
const LINKED_MAX = 60;

/** Returns the spans whose children a link does not show. */
function linkedCollapsed(tree: SpanTree): ReadonlySet<number> {
  const ids = new Set(parameter('fold').split(','));
  return new Set(tree.nodes.flatMap(({ span }, node) => (ids.has(span.spanID) ? [node] : [])));
}

function TraceBody({ tree, path }: LoadedTrace) {
  const collapsed = useSignal<ReadonlySet<number>>(linkedCollapsed(tree));
  const hasPath = parameter('path') !== 'false';
  const found = useFoundSpans(tree);
  const control = useRef<VirtualListControl | undefined>(undefined);
  const rows = useMemo(() => visibleNodes(tree, collapsed.value), [tree, collapsed.value]);
  const selected = useMemo(
    () => (spanId.value === '' ? -1 : tree.nodes.findIndex(({ span }) => span.spanID === spanId.value)),
    [tree, spanId.value],
  );
  const collapse = (nodes: ReadonlySet<number>): void => {
    collapsed.value = nodes;
    const ids = nodes.size > LINKED_MAX ? [] : Array.from(nodes, (node) => tree.nodes[node].span.spanID);
    setParameters({ fold: ids.length === 0 ? undefined : ids.join(',') }, { replaces: true });
  };
  const select = (node: number): void => setParameters({ span: tree.nodes[node]?.span.spanID }, { replaces: true });
  const show = (node: number): void => {
    const opened = new Set(collapsed.value);
    for (let at = tree.nodes[node].parent; at >= 0; at = tree.nodes[at].parent) opened.delete(at);
    if (opened.size !== collapsed.value.size) collapse(opened);
    select(node);
    control.current?.scrollTo(visibleNodes(tree, opened).indexOf(node));
  };
  const step = (direction: 1 | -1): void => {
    const all = found.value;
    if (all.length === 0) return;
    const after = direction === 1 ? all.find((node) => node > selected) : all.findLast((node) => node < selected);
    show(after ?? (direction === 1 ? all[0] : all[all.length - 1]));
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyped = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (isTyped || !hasLetterKeys.value || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'n') step(1);
      else if (event.key === 'N') step(-1);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  useEffect(() => {
    // A link to a span opens there.
    if (selected >= 0) control.current?.scrollTo(rows.indexOf(selected));
  }, [tree]);
  const shownFrom = tree.startUs + (zoom.value?.fromUs ?? 0);
  const shownTo = zoom.value === undefined ? tree.endUs : tree.startUs + zoom.value.toUs;
  return (
    <>
      <Minimap tree={tree} />
      <TraceTools
        tree={tree}
        collapsed={collapsed.value}
        onCollapsed={collapse}
        hasPath={hasPath}
        onPath={(isShown) => setParameters({ path: isShown ? undefined : 'false' }, { replaces: true })}
        foundCount={found.value.length}
        foundAt={found.value.indexOf(selected)}
        onStep={step}
      />
      <Waterfall
        tree={tree}
        rows={rows}
        collapsed={collapsed.value}
        onCollapsed={collapse}
        path={hasPath ? path : []}
        found={found.value}
        selected={selected}
        onSelect={select}
        fromUs={shownFrom}
        toUs={Math.max(shownTo, shownFrom + 1)}
        control={control}
      />
      {selected >= 0 && (
        <SpanPanel
          key={selected}
          tree={tree}
          node={tree.nodes[selected]}
          onClose={() => setParameters({ span: undefined })}
        />
      )}
    </>
  );
}

function useFoundSpans(tree: SpanTree) {
  const found = useSignal<readonly number[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    void findSpans(tree, findText.value, abort.signal).then((nodes) => {
      if (!abort.signal.aborted) found.value = nodes;
    });
    return () => abort.abort();
  }, [tree, findText.value]);
  return found;
}

interface ToolsProps {
  readonly tree: SpanTree;
  readonly collapsed: ReadonlySet<number>;
  readonly onCollapsed: (nodes: ReadonlySet<number>) => void;
  readonly hasPath: boolean;
  readonly onPath: (isShown: boolean) => void;
  readonly foundCount: number;
  /** Place of the selected span among those that were found; -1 if it is none. */
  readonly foundAt: number;
  readonly onStep: (direction: 1 | -1) => void;
}

function TraceTools(props: ToolsProps) {
  const { tree, collapsed, onCollapsed, hasPath, onPath, foundCount, foundAt, onStep } = props;
  const depth = useComputed(() => depthOf(tree));
  const text = findText.value;
  return (
    <div class="row trace-tools">
      <input
        type="search"
        aria-label="Find spans"
        placeholder="Find spans"
        value={text}
        onInput={({ currentTarget: { value } }) => setParameters({ find: value || undefined }, { replaces: true })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1);
        }}
      />
      {text !== '' && (
        <>
          <span role="status">{`${foundAt < 0 ? '' : `${foundAt + 1} of `}${countText(foundCount)} found`}</span>
          <button type="button" disabled={foundCount === 0} title="Previous (N)" onClick={() => onStep(-1)}>
            Previous
          </button>
          <button type="button" disabled={foundCount === 0} title="Next (n)" onClick={() => onStep(1)}>
            Next
          </button>
        </>
      )}
      <select
        aria-label="Collapse"
        value=""
        onChange={({ currentTarget }) => {
          const level = Number(currentTarget.value);
          onCollapsed(new Set(level < 0 ? [] : nodesAtDepth(tree, level)));
          currentTarget.value = '';
        }}
      >
        <option value="">Collapse…</option>
        <option value="-1">Show all spans</option>
        {Array.from({ length: Math.min(depth.value, 20) }, (_, level) => (
          <option key={level} value={level}>
            {level === 0 ? 'Only roots' : `To depth ${level}`}
          </option>
        ))}
      </select>
      <label class="check">
        <input type="checkbox" checked={hasPath} onChange={({ currentTarget }) => onPath(currentTarget.checked)} />
        Critical path
      </label>
      {zoom.value !== undefined && (
        <button type="button" onClick={() => setZoom(undefined)}>
          <Icon name="zoomOut" /> Whole trace
        </button>
      )}
      <span class="grow" />
      <div class="row tight" role="group" aria-label="Services: collapse their spans">
        {tree.services.slice(0, 12).map((service) => (
          <ServiceButton key={service} {...{ tree, service, collapsed, onCollapsed }} />
        ))}
        {tree.services.length > 12 && <span class="dim">and {tree.services.length - 12} more</span>}
      </div>
    </div>
  );
}

interface ServiceButtonProps {
  readonly tree: SpanTree;
  readonly service: string;
  readonly collapsed: ReadonlySet<number>;
  readonly onCollapsed: (nodes: ReadonlySet<number>) => void;
}

function ServiceButton({ tree, service, collapsed, onCollapsed }: ServiceButtonProps) {
  const nodes = useMemo(() => nodesOfService(tree, service), [tree, service]);
  const isCollapsed = nodes.length > 0 && nodes.every((node) => collapsed.has(node));
  const toggle = (): void => {
    const all = new Set(collapsed);
    for (const node of nodes) {
      if (isCollapsed) all.delete(node);
      else all.add(node);
    }
    onCollapsed(all);
  };
  return (
    <button
      type="button"
      class="plain service-button"
      aria-pressed={isCollapsed}
      disabled={nodes.length === 0}
      title={isCollapsed ? 'Show what it calls' : 'Hide what it calls'}
      onClick={toggle}
    >
      <span class={`swatch ${serviceClass(service, tree.services)}`} aria-hidden="true" />
      <bdi>{service === '' ? '(no service)' : service}</bdi>
    </button>
  );
}

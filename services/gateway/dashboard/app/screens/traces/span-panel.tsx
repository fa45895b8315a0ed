import { useSignal } from '@preact/signals';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import { Icon } from '../../widgets/icons.js';
import { microsecondText } from './duration.js';
import { SpanLogs } from './span-logs.js';
import { tagText } from './span-search.js';
import { setZoom } from './traces-state.js';
import type { JaegerTag, SpanNode, SpanTree } from './span-tree.js';

const TABS = ['attributes', 'events', 'links', 'resource', 'logs'] as const;
type Tab = (typeof TABS)[number];
const TITLES: Readonly<Record<Tab, string>> = {
  attributes: 'Attributes',
  events: 'Events',
  links: 'Links',
  resource: 'Resource',
  logs: 'Logs',
};
const VALUE_MAX = 20_000;

interface SpanPanelProps {
  readonly tree: SpanTree;
  readonly node: SpanNode;
  readonly onClose: () => void;
}

/** Everything about one span. */
export function SpanPanel({ tree, node, onClose }: SpanPanelProps) {
  const { span, service, startUs } = node;
  const tab = TABS.find((name) => name === parameter('tab')) ?? 'attributes';
  const links = span.references.filter(({ refType }) => refType !== 'CHILD_OF');
  const counts: Partial<Record<Tab, number>> = {
    attributes: span.tags.length,
    events: span.logs.length,
    links: links.length,
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    setParameters({ tab: next }, { replaces: true });
    document.getElementById(`span-tab-${next}`)?.focus();
  };
  return (
    <section class="span-panel" aria-label="Span">
      <div class="row">
        <h3>
          <bdi>{service}</bdi> <bdi>{span.operationName}</bdi>
        </h3>
        <span>
          {microsecondText(span.duration)}, {microsecondText(startUs - tree.startUs)} after the start, at{' '}
          {civilText(civilOf(Math.floor(startUs / 1000), zone.value), 3)}
        </span>
        <code class="dim">{span.spanID}</code>
        <span class="grow" />
        <button
          type="button"
          onClick={() => setZoom({ fromUs: startUs - tree.startUs, toUs: node.endUs - tree.startUs + 1 })}
        >
          Zoom to it
        </button>
        <button type="button" class="icon-button" aria-label="Close the span" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="tabs" role="tablist" aria-label="Parts of the span" onKeyDown={onKey}>
        {TABS.map((name) => (
          <button
            key={name}
            id={`span-tab-${name}`}
            type="button"
            role="tab"
            aria-selected={tab === name}
            aria-controls="span-part"
            tabIndex={tab === name ? 0 : -1}
            onClick={() => setParameters({ tab: name === 'attributes' ? undefined : name }, { replaces: true })}
          >
            {TITLES[name]}
            {counts[name] === undefined ? '' : ` ${counts[name]}`}
          </button>
        ))}
      </div>
      <div id="span-part" role="tabpanel" aria-labelledby={`span-tab-${tab}`} class="span-part" tabIndex={0}>
        {tab === 'attributes' && <Tags tags={span.tags} none="The span has no attributes." />}
        {tab === 'events' && <Events node={node} />}
        {tab === 'links' && <Links links={links} />}
        {tab === 'resource' && <Tags tags={node.resource} none="The span has no resource." />}
        {tab === 'logs' && <SpanLogs tree={tree} node={node} />}
      </div>
    </section>
  );
}

function Tags({ tags, none }: { readonly tags: readonly JaegerTag[]; readonly none: string }) {
  if (tags.length === 0) return <p class="dim">{none}</p>;
  return (
    <table class="plain tags">
      <tbody>
        {tags.map(({ key, value }, i) => (
          <tr key={i}>
            <th scope="row">
              <bdi>{key}</bdi>
            </th>
            <td>
              <TagValue value={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function TagValue({ value }: { readonly value: unknown }) {
  const text = tagText(value);
  const isAll = useSignal(false);
  if (text.length <= VALUE_MAX || isAll.value) return <bdi class="tag-value">{text}</bdi>;
  return (
    <>
      <bdi class="tag-value">{text.slice(0, VALUE_MAX)}…</bdi>{' '}
      <button type="button" onClick={() => (isAll.value = true)}>
        Show all
      </button>
    </>
  );
}

function Events({ node: { span, startUs } }: { readonly node: SpanNode }) {
  if (span.logs.length === 0) return <p class="dim">The span has no events.</p>;
  return (
    <ol class="span-events">
      {span.logs.map(({ timestamp, fields }, i) => (
        <li key={i}>
          <p class="dim">{microsecondText(timestamp - startUs)} after the start of the span</p>
          <Tags tags={fields} none="The event has no attributes." />
        </li>
      ))}
    </ol>
  );
}

function Links({ links }: { readonly links: SpanNode['span']['references'] }) {
  if (links.length === 0) return <p class="dim">The span has no links.</p>;
  return (
    <ul>
      {links.map(({ traceID, spanID }, i) => (
        <li key={i} class="mono">
          <a href={linkTo('traces', { id: traceID, span: spanID })}>
            {traceID} {spanID}
          </a>
        </li>
      ))}
    </ul>
  );
}

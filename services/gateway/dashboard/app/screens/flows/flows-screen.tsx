import '../../style/data.css';
import './flows.css';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { counted } from '../../format/counted.js';
import { countText, secondsText } from '../../format/numbers.js';
import { mayWrite } from '../../shell/available.js';
import { nanosecondText } from '../../time/nanosecond-text.js';
import { zone } from '../../time/zones.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { usePolled } from '../../widgets/use-polled.js';
import { FlowPage } from './flow-page.js';
import { FLOW_TEMPLATE, listFlows, type ListedFlow } from './flow-sql.js';

const EVERY_MS = 5000;
const LISTED_MAX = 200;

/** Queries whose results are kept in tables: when they ran, and what they are. */
export function FlowsScreen() {
  const { value, error, reload } = usePolled(listFlows, [], EVERY_MS);
  const words = parameter('s');
  const chosen = parameter('flow');
  const all = value ?? [];
  const found = all.filter(({ name }) => name.toLowerCase().includes(words.toLowerCase()));
  const flow = all.find(({ name }) => name === chosen);
  return (
    <div class="screen flows">
      <div class="row">
        <h1>Flows</h1>
        <input
          type="search"
          aria-label="Search flows"
          placeholder="Search flows"
          value={words}
          onInput={({ currentTarget: { value: text } }) =>
            setParameters({ s: text === '' ? undefined : text }, { replaces: true })
          }
        />
        {value !== undefined && (
          <span role="status" class="dim">
            {counted(found.length, 'flow')}
          </span>
        )}
        <span class="grow" />
        {mayWrite(database()) && (
          <a class="button" href={linkTo('query', { q: FLOW_TEMPLATE })}>
            New flow
          </a>
        )}
      </div>
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && found.length === 0 && <p class="empty">{emptyText(words)}</p>}
      {found.length > 0 && <FlowTable flows={found.slice(0, LISTED_MAX)} chosen={chosen} />}
      {found.length > LISTED_MAX && (
        <p class="dim">The first {countText(LISTED_MAX)} are listed: search to see others.</p>
      )}
      {flow !== undefined && <FlowPage key={flow.name} flow={flow} onChange={reload} />}
      {flow === undefined && chosen !== '' && value !== undefined && (
        <p class="dim">
          There is no flow called <bdi>{chosen}</bdi>.
        </p>
      )}
    </div>
  );
}

function emptyText(words: string): string {
  if (words !== '') return 'No name contains this.';
  return 'A flow keeps the result of a query up to date in a table, while rows are written to the tables that it reads.';
}

function FlowTable({ flows, chosen }: { readonly flows: readonly ListedFlow[]; readonly chosen: string }) {
  return (
    <div class="scroll-x">
      <table class="plain wide" aria-label="Flows">
        <thead>
          <tr>
            <th scope="col">Flow</th>
            <th scope="col">Results in</th>
            <th scope="col">Last run</th>
            <th scope="col" class="grow">
              State
            </th>
          </tr>
        </thead>
        <tbody>
          {flows.map((flow) => (
            <tr key={flow.name}>
              <th scope="row">
                <a
                  href={linkTo('flows', { flow: flow.name, s: parameter('s') || undefined })}
                  aria-current={flow.name === chosen ? 'true' : undefined}
                >
                  <bdi>{flow.name}</bdi>
                </a>
              </th>
              <td>
                <SinkLink flow={flow} />
              </td>
              <td>{lastRunText(flow)}</td>
              <td class={flow.error === '' ? 'good' : 'bad'}>
                {flow.error === '' ? 'ok' : <bdi class="flows-error">{flow.error}</bdi>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SinkLink({ flow: { sink } }: { readonly flow: ListedFlow }) {
  const { database: of, table } = sink;
  return (
    <a href={linkTo('tables', { t: table, db: of === 'public' || of === '' ? undefined : of })}>
      <bdi>{of === '' ? table : `${of}.${table}`}</bdi>
    </a>
  );
}

function lastRunText({ lastRunMs }: ListedFlow): string {
  if (lastRunMs === undefined) return 'not yet';
  const agoSeconds = Math.max(0, Math.round((Date.now() - lastRunMs) / 1000));
  return `${nanosecondText(BigInt(lastRunMs) * 1_000_000n, zone.value, 3)} (${secondsText(agoSeconds)} ago)`;
}

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { messageOf, request } from '../../core/http.js';
import { linkTo, parameter, setParameters } from '../../core/route.js';
import { loadRunningQueries, type RunningQuery } from '../../data/running-queries.js';
import { bytesText, countText, secondsText } from '../../format/numbers.js';
import { Confirm } from '../../widgets/confirm.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { usePolled } from '../../widgets/use-polled.js';

const EVERY_MS = 1000;

/** The queries that run now, with buttons that kill them. */
export function RunningQueries() {
  const { value, error, reload } = usePolled(loadQueries, [], EVERY_MS);
  const ending = useSignal<RunningQuery | undefined>(undefined);
  const outcome = useSignal<{ readonly text: string; readonly isError: boolean } | undefined>(undefined);
  const end = async (query: RunningQuery): Promise<void> => {
    ending.value = undefined;
    try {
      await request(`v1/queries/${encodeURIComponent(query.id)}`, { method: 'DELETE' });
      outcome.value = { text: `The query ${query.id} was killed.`, isError: false };
    } catch (failure) {
      outcome.value = { text: messageOf(failure), isError: true };
    }
    reload();
  };
  const user = parameter('user');
  const shown = (value ?? []).filter((query) => user === '' || query.user === user);
  return (
    <>
      <div class="row">
        <span role="status">{value === undefined ? '' : countOf(shown.length)}</span>
        <UserFilter queries={value ?? []} user={user} />
        <span class="dim">Updated every second</span>
      </div>
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {outcome.value !== undefined && (
        <p class={outcome.value.isError ? 'error' : 'notice'} role={outcome.value.isError ? 'alert' : 'status'}>
          {outcome.value.text}
        </p>
      )}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && shown.length === 0 && (
        <p class="empty">
          No query is running. Queries appear here while they run; those that took long are under{' '}
          <a href={linkTo('queries', { tab: 'slow' })}>Slow</a>.
        </p>
      )}
      {shown.length > 0 && <QueryTable queries={shown} onEnd={(query) => (ending.value = query)} />}
      {ending.value !== undefined && (
        <Confirm
          title="Kill this query?"
          action="Kill"
          onConfirm={() => ending.value !== undefined && void end(ending.value)}
          onClose={() => (ending.value = undefined)}
        >
          <p>Its client gets an error. A statement that writes may have stored rows already.</p>
          <pre class="query-text">{ending.value.text}</pre>
        </Confirm>
      )}
    </>
  );
}

async function loadQueries(signal: AbortSignal): Promise<readonly RunningQuery[]> {
  const queries = await loadRunningQueries(signal);
  return [...queries].sort((a, b) => b.elapsed_ms - a.elapsed_ms);
}

function countOf(count: number): string {
  return count === 1 ? '1 query' : `${countText(count)} queries`;
}

function UserFilter({ queries, user }: { readonly queries: readonly RunningQuery[]; readonly user: string }) {
  const users = [...new Set([...queries.map((query) => query.user), user])].filter((name) => name !== '').sort();
  if (users.length === 0) return null;
  return (
    <label class="row tight">
      User
      <select
        value={user}
        onChange={({ currentTarget: { value } }) => setParameters({ user: value === '' ? undefined : value })}
      >
        <option value="">all</option>
        {users.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function QueryTable({
  queries,
  onEnd,
}: {
  readonly queries: readonly RunningQuery[];
  readonly onEnd: (query: RunningQuery) => void;
}) {
  const hasUsers = queries.some(({ user }) => user !== '');
  const hasNodes = new Set(queries.map(({ node }) => node)).size > 1;
  return (
    <div class="scroll-x">
      <table class="plain wide" aria-label="Running queries">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
            <th scope="col" class="number">
              Elapsed
            </th>
            <th scope="col">Kind</th>
            {hasUsers && <th scope="col">User</th>}
            <th scope="col">Database</th>
            <th scope="col" class="number">
              Rows read
            </th>
            <th scope="col" class="number">
              Bytes read
            </th>
            <th scope="col" class="number">
              Memory
            </th>
            <th scope="col">Progress</th>
            <th scope="col" class="number">
              Rows sent
            </th>
            {hasNodes && <th scope="col">Node</th>}
            <th scope="col" class="grow">
              Query
            </th>
          </tr>
        </thead>
        <tbody>
          {queries.map((query) => (
            <tr key={query.process}>
              <td>
                <button type="button" aria-label={`Kill query ${query.id}`} onClick={() => onEnd(query)}>
                  Kill
                </button>
              </td>
              <td class="number" title={`Since ${query.started}`}>
                {secondsText(query.elapsed_ms / 1000, 3)}
              </td>
              <td>{KINDS[query.kind] ?? query.kind}</td>
              {hasUsers && <td>{query.user}</td>}
              <td>{query.db}</td>
              <td class="number">{figureOf(query.rows_scanned, countText)}</td>
              <td class="number">{figureOf(query.bytes_scanned, bytesText)}</td>
              <td class="number">{figureOf(query.memory_bytes, bytesText)}</td>
              <td>{figureOf(query.progress, progressBar)}</td>
              <td class="number">{figureOf(query.rows_out, countText)}</td>
              {hasNodes && <td>{query.node}</td>}
              <td>
                <details class="query-details">
                  <summary>
                    <code>{firstLine(query.text)}</code>
                  </summary>
                  <pre class="query-text">{query.text}</pre>
                  <span class="dim">
                    ID <code>{query.id}</code>, process <code>{query.process}</code>
                  </span>
                </details>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  sql: 'SQL',
  promql: 'PromQL',
  series: 'Series',
  remote_read: 'Remote read',
};
const LINE_LENGTH_MAX = 200;

function firstLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, LINE_LENGTH_MAX);
}

function figureOf(value: number | null, textOf: (value: number) => ComponentChildren): ComponentChildren {
  if (value !== null) return textOf(value);
  return (
    <span class="dim" title="Not known of this query, or not yet">
      n/a
    </span>
  );
}

function progressBar(share: number): ComponentChildren {
  return (
    <span class="row tight">
      <progress aria-label="Progress" value={share} /> {Math.floor(share * 100)} %
    </span>
  );
}

import './tables.css';

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { useLoaded } from '../../data/use-loaded.js';
import { SERVER_URL } from '../../core/origin.js';
import { returnCount } from '../../core/reachability.js';
import { linkTo, parameter } from '../../core/route.js';
import { userName } from '../../core/session.js';
import { otlpEnvironment } from '../../data/otlp-snippets.js';
import { readSchema, schema } from '../../data/schema.js';
import { database } from '../../data/sql.js';
import { bytesText, countText } from '../../format/numbers.js';
import { mayWrite } from '../../shell/available.js';
import { reloadCount } from '../../time/page-range.js';
import { CommandPanel } from '../../widgets/command-panel.js';
import { FailureText } from '../../widgets/failure-text.js';
import { listTables, type ListedTable } from './table-facts.js';
import { TablePage } from './table-page.js';
import { VIEW_TEMPLATE } from './view-actions.js';

/** Everything that is stored: tables and views with their columns, sizes and definitions. */
export function TablesScreen() {
  const words = useSignal('');
  const name = database();
  const chosen = parameter('t');
  const tables = useLoaded((signal) => listTables(name, signal), [name, reloadCount.value]);
  useEffect(() => void readSchema(name), [name, reloadCount.value, returnCount.value]);
  const all = tables.value ?? [];
  const found = matching(all, words.value);
  const entry = all.find((table) => table.name === chosen);
  return (
    <div class="screen tables">
      <div class="row">
        <h1>Tables of {name}</h1>
        <span class="grow" />
        {all.length > 0 && mayWrite(name) && (
          <a class="button" href={linkTo('query', { q: VIEW_TEMPLATE })}>
            New view
          </a>
        )}
      </div>
      <FailureText text={tables.failure} />
      {tables.value !== undefined && all.length === 0 ? (
        <NoTables />
      ) : (
        <div class="tables-columns">
          <nav class="tables-list stack" aria-label="Tables">
            <input
              type="search"
              aria-label="Search tables and columns"
              placeholder="Search tables and columns"
              value={words}
              onInput={({ currentTarget }) => (words.value = currentTarget.value)}
            />
            {tables.value === undefined && tables.isLoading && <p class="dim">Loading…</p>}
            <ul aria-label="Found tables">
              {found.slice(0, LISTED_MAX).map((table) => (
                <li key={table.name}>
                  <a
                    href={linkTo('tables', { t: table.name, db: name === 'public' ? undefined : name })}
                    aria-current={table.name === chosen ? 'page' : undefined}
                  >
                    <bdi class="tables-name">{table.name}</bdi>
                    <span class="dim">
                      {table.kind}
                      {/* Before the first flush all rows are in the log. */}
                      {table.diskBytes === null || table.diskBytes === 0 ? '' : ` · ${bytesText(table.diskBytes, 3)}`}
                    </span>
                  </a>
                </li>
              ))}
            </ul>
            {found.length > LISTED_MAX && <p class="dim">{countText(found.length)} tables: search to see more.</p>}
            {found.length === 0 && all.length > 0 && <p class="dim">No table or column has these words.</p>}
          </nav>
          {chosen === '' ? (
            <p class="empty">Choose a table to see its columns, rows, size and definition.</p>
          ) : entry === undefined && tables.value !== undefined ? (
            <p class="empty">
              The database {name} has no table called <bdi>{chosen}</bdi>.
            </p>
          ) : (
            entry !== undefined && <TablePage key={`${name}.${chosen}`} table={entry} />
          )}
        </div>
      )}
    </div>
  );
}

const LISTED_MAX = 500;

/** Returns the tables whose names, or those of their columns, contain all words. */
function matching(tables: readonly ListedTable[], words: string): readonly ListedTable[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return tables;
  const columns = new Map((schema.value?.tables ?? []).map((table) => [table.name, table.columns]));
  return tables.filter(({ name }) => {
    const text = [name, ...(columns.get(name) ?? []).map((column) => column.name)].join(' ').toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** What to do in an empty database. */
function NoTables() {
  const name = database();
  const parameters = name === 'public' ? '' : `?db=${encodeURIComponent(name)}`;
  const commands = [
    ['Line protocol', `curl '${SERVER_URL}/v1/lineproto/write${parameters}' --data-binary 'cpu,host=a usage=0.5'`],
    ['Prometheus, in prometheus.yml', `remote_write:\n  - url: ${SERVER_URL}/v1/prometheus/write${parameters}`],
    ['OpenTelemetry, as environment', otlpEnvironment({ url: SERVER_URL, database: name, user: userName.value })],
  ] as const;
  return (
    <div class="stack">
      <p>There is no table yet. Tables are created by the first rows that arrive:</p>
      {commands.map(([title, command]) => (
        <CommandPanel key={title} title={title} text={command} />
      ))}
    </div>
  );
}

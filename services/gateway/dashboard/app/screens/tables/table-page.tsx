import { useRef } from 'preact/hooks';

import { useLoaded } from '../../data/use-loaded.js';
import { linkTo, parameter, setParameters } from '../../core/route.js';
import { schema } from '../../data/schema.js';
import { database, quotedName, runSql } from '../../data/sql.js';
import { bytesText, countText } from '../../format/numbers.js';
import { reloadCount } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { CopyButton } from '../../widgets/copy-button.js';
import { RowGrid } from '../../widgets/row-grid.js';
import { mayWrite } from '../../shell/available.js';
import { FailureText } from '../../widgets/failure-text.js';
import { TableActions } from './table-actions.js';
import { ViewActions } from './view-actions.js';
import { tableDefinition, tableExtent, tableRegions, type ListedTable } from './table-facts.js';

type PageTab = 'schema' | 'rows' | 'storage' | 'ddl';

const TITLES: Readonly<Record<PageTab, string>> = {
  schema: 'Columns',
  rows: 'Rows',
  storage: 'Storage',
  ddl: 'Definition',
};
const ROWS_SHOWN = 100;

/** One table: what it has, where it is stored, and what can be done with it. */
export function TablePage({ table }: { readonly table: ListedTable }) {
  const linked = parameter('tab', 'schema');
  const tab: PageTab = Object.hasOwn(TITLES, linked) ? (linked as PageTab) : 'schema';
  const columns = schema.value?.tables.find(({ name }) => name === table.name)?.columns ?? [];
  const timeIndex = columns.find(({ role }) => role === 'time index')?.name;
  const statement = `SELECT * FROM ${quotedName(table.name)}${timeIndex === undefined ? '' : ` ORDER BY ${quotedName(timeIndex)} DESC`} LIMIT ${ROWS_SHOWN}`;
  return (
    <article class="table-page stack" aria-label={`Table ${table.name}`}>
      <div class="row">
        <h2>
          <bdi>{table.name}</bdi> <span class="dim">{table.kind}</span>
        </h2>
        <span class="grow" />
        <a class="button" href={linkTo('query', { q: statement })}>
          Open in Query
        </a>
      </div>
      <Facts table={table} timeIndex={timeIndex} columnCount={columns.length} />
      <div class="tabs" role="tablist" aria-label="About the table">
        {(Object.keys(TITLES) as PageTab[]).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={tab === name}
            onClick={() => setParameters({ tab: name })}
          >
            {TITLES[name]}
          </button>
        ))}
      </div>
      {tab === 'schema' && <Columns columns={columns} />}
      {tab === 'rows' && <FirstRows statement={statement} />}
      {tab === 'storage' && <Storage table={table} />}
      {tab === 'ddl' && <Definition table={table} />}
    </article>
  );
}

interface FactsProps {
  readonly table: ListedTable;
  readonly timeIndex: string | undefined;
  readonly columnCount: number;
}

function Facts({ table, timeIndex, columnCount }: FactsProps) {
  const extent = useLoaded(
    (signal) => tableExtent(table.name, timeIndex, zone.value, signal),
    [table.name, timeIndex, zone.value, reloadCount.value],
  );
  const { value, failure: error } = extent;
  return (
    <>
      <dl class="facts">
        <Fact name="Rows" value={value === undefined ? '…' : countText(value.rowCount)} />
        <Fact name="In segments" value={table.diskBytes === null ? 'n/a' : bytesText(table.diskBytes, 3)} />
        <Fact name="First" value={value?.first ?? '…'} />
        <Fact name="Last" value={value?.last ?? '…'} />
        <Fact name="Columns" value={String(columnCount)} />
      </dl>
      <FailureText text={error} />
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Columns({ columns }: { readonly columns: readonly { name: string; type: string; role: string }[] }) {
  return (
    <table class="plain">
      <caption class="visually-hidden">Columns</caption>
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col">Type</th>
          <th scope="col">Role</th>
        </tr>
      </thead>
      <tbody>
        {columns.map(({ name, type, role }) => (
          <tr key={name}>
            <th scope="row">
              <bdi class="mono">{name}</bdi>
            </th>
            <td class="mono">{type}</td>
            <td>{role}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function FirstRows({ statement }: { readonly statement: string }) {
  const loaded = useLoaded((signal) => runSql(statement, { signal }), [statement, reloadCount.value]);
  const { value: rows, failure } = loaded;
  return (
    <>
      <FailureText text={failure} />
      {rows === undefined ? (
        failure === '' && <p class="dim">Loading…</p>
      ) : rows.rowCount === 0 ? (
        <p class="dim">The table has no rows.</p>
      ) : (
        <RowGrid label="Newest rows" rows={rows} />
      )}
    </>
  );
}

function Storage({ table }: { readonly table: ListedTable }) {
  const regions = useLoaded((signal) => tableRegions(database(), table.name, signal), [table.name, reloadCount.value]);
  const all = regions.value ?? [];
  return (
    <div class="stack">
      <FailureText text={regions.failure} />
      <table class="plain">
        <caption class="visually-hidden">Regions</caption>
        <thead>
          <tr>
            <th scope="col">Region</th>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Stored rows
            </th>
            <th scope="col" class="number">
              Segments
            </th>
            <th scope="col" class="number">
              In segments
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map(({ id, node, state, rows, segments, diskBytes }) => (
            <tr key={id}>
              <th scope="row">{id}</th>
              <td>{node}</td>
              <td>{state.toLowerCase()}</td>
              <td class="number">{countText(rows)}</td>
              <td class="number">{countText(segments)}</td>
              <td class="number">{bytesText(diskBytes, 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">Stored rows are those in segments; newer ones are in memory and in the write-ahead log.</p>
      {table.kind !== 'view' && mayWrite(database()) && <TableActions table={table.name} />}
    </div>
  );
}

function Definition({ table }: { readonly table: ListedTable }) {
  const loaded = useLoaded(
    (signal) => tableDefinition(table.name, table.kind, signal),
    [table.name, reloadCount.value],
  );
  const { value, failure } = loaded;
  const shown = useRef<HTMLPreElement>(null);
  return (
    <div class="stack">
      <FailureText text={failure} />
      <pre ref={shown} class="definition" tabIndex={0} aria-label="Definition">
        {value ?? (failure === '' ? 'Loading…' : '')}
      </pre>
      <div>
        <CopyButton text={value ?? ''} isDisabled={value === undefined} shownIn={shown} />
      </div>
      {table.kind === 'view' && value !== undefined && mayWrite(database()) && (
        <ViewActions view={table.name} definition={value} />
      )}
    </div>
  );
}

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { isAbort, messageOf } from '../../core/http.js';
import { sqlRows } from '../../data/sql.js';
import { countText } from '../../format/numbers.js';
import { Icon } from '../../widgets/icons.js';
import type { LogLine } from './log-line.js';
import { facetSql, type LineSelection } from './search/log-sql.js';
import type { LogTable } from './search/log-table.js';
import { searchFor, searchText } from './logs-state.js';
import { withCondition } from './search/search.js';

const VALUES_SHOWN = 10;
const MEMBERS_MAX = 60;
const SAMPLED_LINES = 200;

interface FacetsProps {
  readonly selection: LineSelection;
  readonly lines: readonly LogLine[];
}

/** The fields of the lines, each with its most frequent values when it is opened. */
export function Facets({ selection, lines }: FacetsProps) {
  const fields = facetFields(selection.table, lines);
  return (
    <section class="facets" aria-label="Fields" tabIndex={0}>
      <h2>Fields</h2>
      {fields.map((name) => (
        <Facet key={`${selection.table.name} ${name}`} name={name} selection={selection} />
      ))}
    </section>
  );
}

function Facet({ name, selection }: { readonly name: string; readonly selection: LineSelection }) {
  const isOpen = useSignal(false);
  return (
    <div class="facet">
      <h3>
        <button
          type="button"
          class="plain facet-name"
          aria-expanded={isOpen.value}
          title={name}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          <Icon name="chevron" /> <bdi>{name}</bdi>
        </button>
      </h3>
      {isOpen.value && <FacetValues name={name} selection={selection} />}
    </div>
  );
}

interface FacetValue {
  readonly value: string;
  readonly lines: bigint | number;
}

function FacetValues({ name, selection }: { readonly name: string; readonly selection: LineSelection }) {
  const part = useSignal('');
  const values = useSignal<readonly FacetValue[] | undefined>(undefined);
  const failure = useSignal('');
  useEffect(() => {
    const abort = new AbortController();
    sqlRows<FacetValue>(facetSql(selection, name, part.value, VALUES_SHOWN), { signal: abort.signal }).then(
      (rows) => {
        if (abort.signal.aborted) return;
        values.value = rows;
        failure.value = '';
      },
      (error: unknown) => {
        if (!isAbort(error)) failure.value = messageOf(error);
      },
    );
    return () => abort.abort();
  }, [selection, name, part.value]);
  const choose = (value: string, isExcluded: boolean): void => {
    searchFor(withCondition(searchText.value, name, isExcluded ? '!=' : '=', value));
  };
  const hasMore = part.value !== '' || (values.value?.length ?? 0) >= VALUES_SHOWN;
  return (
    <div class="facet-values">
      {hasMore && (
        <input
          type="search"
          aria-label={`Find values of ${name}`}
          placeholder="Find values"
          value={part}
          onInput={(event) => (part.value = event.currentTarget.value)}
        />
      )}
      {failure.value !== '' && (
        <p class="error" role="alert">
          {failure}
        </p>
      )}
      {values.value === undefined && failure.value === '' && <p class="dim">Loading…</p>}
      {values.value?.length === 0 && <p class="dim">No values</p>}
      <ul>
        {values.value?.map(({ value, lines }) => (
          <li key={value}>
            <button
              type="button"
              class="plain facet-value"
              title={`${value.slice(0, 500)}\nClick: only these lines. Alt+click: not these lines`}
              onClick={(event) => choose(value, event.altKey)}
            >
              <bdi class={value === '' ? 'dim' : ''}>{value === '' ? '(none)' : value.slice(0, 200)}</bdi>
              <span class="dim">{countText(lines)}</span>
            </button>
            <button
              type="button"
              class="icon-button"
              aria-label={`Exclude ${name} ${value.slice(0, 200)}`}
              title="Not these lines"
              onClick={() => choose(value, true)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns the fields to choose from: the level, tags, other columns but the line, and members of JSON that lines have. */
function facetFields({ levelColumn, lineColumn, columns }: LogTable, lines: readonly LogLine[]): string[] {
  const level = levelColumn ?? 'level';
  const plain = columns.filter(({ name, kind }) => name !== lineColumn && name !== level && kind !== 'json');
  const tags = plain.filter(({ isTag }) => isTag).map(({ name }) => name);
  const others = plain.filter(({ isTag }) => !isTag).map(({ name }) => name);
  const members = new Set<string>();
  for (const { name } of columns.filter(({ kind }) => kind === 'json')) {
    for (const { fields } of lines.slice(0, SAMPLED_LINES)) {
      for (const member of membersOf(fields.get(name))) {
        if (members.size < MEMBERS_MAX) members.add(`${name}.${member}`);
      }
    }
  }
  return [level, ...tags, ...[...members].sort(), ...others];
}

function membersOf(json: string | undefined): string[] {
  if (json === undefined || json.length > 10_000 || !json.startsWith('{')) return [];
  try {
    return Object.keys(JSON.parse(json) as object);
  } catch {
    return [];
  }
}

import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { promData } from '../../data/promql.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { Icon } from '../../widgets/icons.js';
import { filtersText, selectorText, withFilter, type LabelFilter } from './filters.js';
import { areFiltersValid, metricFilters, setFilters, splitBy } from './metrics-state.js';

const VALUES_MAX = 1000;

interface FilterBarProps {
  readonly metric: string;
  /** Names that filters and splits can have. */
  readonly labels: readonly string[];
}

/** The filters of a metric, and the label that splits its charts. */
export function FilterBar({ metric, labels }: FilterBarProps) {
  const filters = metricFilters.value;
  return (
    <div class="row" role="group" aria-label="Filters">
      {!areFiltersValid.value && (
        <span class="warn" role="status">
          The filters in the address cannot be read: none applies
        </span>
      )}
      {filters.map((filter) => (
        <span key={filtersText([filter])} class="filter-chip">
          <code>{filtersText([filter])}</code>
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove ${filtersText([filter])}`}
            title="Remove"
            onClick={() => setFilters(filters.filter((other) => other !== filter))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      {labels.length > 0 && <FilterForm key={metric} metric={metric} labels={labels} />}
      <label class="inline">
        <span class="dim">Split by</span>{' '}
        <select
          value={splitBy.value}
          onChange={({ currentTarget: { value } }) => setParameters({ by: value === '' ? undefined : value })}
        >
          <option value="">none</option>
          {[...new Set([...labels, ...(splitBy.value === '' ? [] : [splitBy.value])])].map((label) => (
            <option key={label} value={label}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function FilterForm({ metric, labels }: FilterBarProps) {
  const id = useId();
  const label = useSignal(labels[0]);
  const operator = useSignal<LabelFilter['operator']>('=');
  const text = useSignal('');
  const filters = metricFilters.value;
  const others = filters.filter((filter) => filter.label !== label.value);
  const { value: values = [] } = useLoaded(
    async (signal) => {
      const parameters = new URLSearchParams({ 'match[]': selectorText(metric, others), limit: String(VALUES_MAX) });
      return promData<readonly string[]>(`label/${encodeURIComponent(label.value)}/values`, parameters, signal);
    },
    [metric, label.value, filtersText(others), database()],
  );
  const add = (event: Event): void => {
    event.preventDefault();
    setFilters(withFilter(filters, { label: label.value, operator: operator.value, value: text.value }));
    text.value = '';
  };
  return (
    <form class="row tight" onSubmit={add} aria-label="Add a filter">
      <select aria-label="Label" value={label.value} onChange={({ currentTarget: { value } }) => (label.value = value)}>
        {labels.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label="Operator"
        value={operator.value}
        onChange={({ currentTarget: { value } }) => (operator.value = value as LabelFilter['operator'])}
      >
        <option value="=">=</option>
        <option value="!=">!=</option>
      </select>
      <input
        aria-label="Value"
        list={`${id}-values`}
        placeholder="value"
        value={text}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <datalist id={`${id}-values`}>
        {values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      <button type="submit">
        <Icon name="add" /> Filter
      </button>
    </form>
  );
}

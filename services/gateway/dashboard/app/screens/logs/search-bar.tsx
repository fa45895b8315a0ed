import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { reload } from '../../time/page-range.js';
import { Icon } from '../../widgets/icons.js';
import type { LogsModel, SearchFailure } from './logs-model.js';
import { isLive, searchFor, searchText } from './logs-state.js';

/** The choice of the table and the search line. */
export function SearchBar({ model }: { readonly model: LogsModel }) {
  const text = useSignal(searchText.value);
  // Before the field is shown: later, it would replace what is typed meanwhile.
  useLayoutEffect(() => void (text.value = searchText.value), [searchText.value]);
  const tables = model.tables.value ?? [];
  const current = model.table.value;
  const groups = [
    { label: 'Logs', of: tables.filter(({ isLog }) => isLog) },
    { label: 'Other tables with texts', of: tables.filter(({ isLog }) => !isLog) },
  ].filter(({ of }) => of.length > 0);
  return (
    <form
      class="row search-bar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.value.trim() === searchText.value) reload();
        else searchFor(text.value.trim());
      }}
    >
      <select
        aria-label="Table"
        value={current?.name ?? ''}
        onChange={({ currentTarget: { value } }) =>
          setParameters({ t: value, row: undefined, at: undefined, stream: undefined, cols: undefined })
        }
      >
        {current === undefined && <option value="">No table</option>}
        {groups.map(({ label, of }) => (
          <optgroup key={label} label={label}>
            {of.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <input
        type="search"
        class="grow mono"
        aria-label="Search"
        aria-describedby="logs-syntax"
        placeholder={'error "connection refused" app=shop level>=warn -timeout'}
        spellcheck={false}
        value={text}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <span id="logs-syntax" class="visually-hidden">
        Words, phrases in quotes, field=value, field!=value, field~regular expression, level&gt;=warn, a minus sign
        before what must not be found, OR, and parentheses
      </span>
      <button type="submit" class="primary">
        <Icon name="search" /> Search
      </button>
      <button
        type="button"
        aria-pressed={isLive.value}
        class={isLive.value ? 'live-on' : ''}
        onClick={() => setParameters({ live: isLive.value ? undefined : '1', at: undefined, stream: undefined })}
      >
        <Icon name={isLive.value ? 'stop' : 'play'} /> Live
      </button>
    </form>
  );
}

/** Why the search failed, with the place in the search line. */
export function FailureNote({ failure }: { readonly failure: SearchFailure }) {
  return (
    <div class="error" role="alert">
      {failure.message}
      {failure.at !== undefined && (
        <div class="fault-place mono">
          {searchText.value.slice(Math.max(0, failure.at - 60), failure.at)}
          <mark>{searchText.value.slice(failure.at, failure.at + 40) || '␠'}</mark>
        </div>
      )}
    </div>
  );
}

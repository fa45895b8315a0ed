import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { isAbort } from '../core/http.js';
import { isReachable } from '../core/reachability.js';
import { setParameters } from '../core/route.js';
import { credentials } from '../core/session.js';
import { database, sqlRows } from '../data/sql.js';
import { reloadCount } from '../time/page-range.js';

const STATEMENT = 'SELECT schema_name AS name FROM information_schema.schemata ORDER BY 1';

/** Chooses the database of all screens. */
export function DatabasePicker() {
  const names = useSignal<readonly string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    sqlRows<{ name: string }>(STATEMENT, { signal: abort.signal }).then(
      (rows) => (names.value = rows.map(({ name }) => name)),
      (error: unknown) => {
        // Without the list, the current one is still there.
        if (!isAbort(error)) names.value = [];
      },
    );
    return () => abort.abort();
  }, [isReachable.value, credentials.value, reloadCount.value]);
  const current = database();
  const all = names.value.includes(current) ? names.value : [current, ...names.value];
  return (
    <label class="row tight">
      <span class="visually-hidden">Database</span>
      <select
        value={current}
        onChange={({ currentTarget: { value } }) => setParameters({ db: value === 'public' ? undefined : value })}
      >
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

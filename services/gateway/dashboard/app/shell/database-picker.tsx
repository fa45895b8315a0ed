import { setParameters } from '../core/route.js';
import { credentials } from '../core/session.js';
import { database, sqlRows } from '../data/sql.js';
import { useLoaded } from '../data/use-loaded.js';
import { reloadCount } from '../time/page-range.js';

const STATEMENT = 'SELECT schema_name AS name FROM information_schema.schemata ORDER BY 1';

/** Chooses the database of all screens. */
export function DatabasePicker() {
  // Without the list, the current one is still there.
  const { value: names = [] } = useLoaded(
    async (signal) => (await sqlRows<{ name: string }>(STATEMENT, { signal })).map(({ name }) => name),
    [credentials.value, reloadCount.value],
  );
  const current = database();
  const all = names.includes(current) ? names : [current, ...names];
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

import '../../style/data.css';
import './users.css';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { useLoaded } from '../../data/use-loaded.js';
import { counted } from '../../format/counted.js';
import { countText } from '../../format/numbers.js';
import { serverFacts } from '../../shell/available.js';
import { reloadCount } from '../../time/page-range.js';
import { FailureText } from '../../widgets/failure-text.js';
import { NewUserForm } from './new-user-form.js';
import { UserPage } from './user-page.js';
import { ALL_DATABASES, listUsers, modeText, type ListedUser } from './user-sql.js';

const LISTED_MAX = 200;
const GRANTS_LISTED_MAX = 3;

/** The users that SQL manages: what they may do, and their tokens. */
export function UsersScreen() {
  const users = useLoaded(listUsers, [reloadCount.value]);
  const chosen = parameter('user');
  const words = parameter('s');
  const all = users.value ?? [];
  const found = all.filter(({ name }) => name.toLowerCase().includes(words.toLowerCase()));
  return (
    <div class="screen users">
      <div class="row">
        <h1>Users</h1>
        <input
          type="search"
          aria-label="Search users"
          placeholder="Search users"
          value={words}
          onInput={({ currentTarget: { value } }) =>
            setParameters({ s: value === '' ? undefined : value }, { replaces: true })
          }
        />
        {users.value !== undefined && (
          <span role="status" class="dim">
            {counted(found.length, 'user')}
          </span>
        )}
      </div>
      {serverFacts.value?.auth === false && <NoAuthentication />}
      <FailureText text={users.failure} />
      {users.value === undefined && users.isLoading && <p class="loading">Loading…</p>}
      <div class="users-columns">
        <div class="stack users-list">
          {found.length > 0 && <UserTable users={found.slice(0, LISTED_MAX)} chosen={chosen} />}
          {found.length > LISTED_MAX && (
            <p class="dim">The first {countText(LISTED_MAX)} are listed: search to see others.</p>
          )}
          {users.value !== undefined && found.length === 0 && (
            <p class="dim">
              {all.length === 0
                ? 'SQL manages no user yet. Those of user_provider are not listed: they are changed where they are set.'
                : 'No name contains this.'}
            </p>
          )}
          <NewUserForm />
        </div>
        {chosen === '' ? (
          <p class="empty">Choose a user to change rights, password and tokens.</p>
        ) : (
          <UserPage key={chosen} name={chosen} />
        )}
      </div>
    </div>
  );
}

/** What to do first. */
function NoAuthentication() {
  return (
    <p class="notice">
      This server checks no users: every request may do everything. Users that are created here are used when{' '}
      <code>user_provider</code> is set and the server is started again, for example{' '}
      <code>user_provider = "watch_file_user_provider:/etc/almanac/users"</code> with one administrator in the file,{' '}
      <code>root:admin=PASSWORD</code>.
    </p>
  );
}

function UserTable({ users, chosen }: { readonly users: readonly ListedUser[]; readonly chosen: string }) {
  return (
    <div class="scroll-x">
      <table class="plain wide" aria-label="Users">
        <thead>
          <tr>
            <th scope="col">User</th>
            <th scope="col" class="grow">
              May
            </th>
            <th scope="col" class="number">
              Tokens
            </th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.name}>
              <th scope="row">
                <a
                  href={linkTo('users', { user: user.name, s: parameter('s') || undefined })}
                  aria-current={user.name === chosen ? 'true' : undefined}
                >
                  <bdi>{user.name}</bdi>
                </a>
              </th>
              <td>
                <bdi>{rightsText(user)}</bdi>
              </td>
              <td class="number">{user.tokenCount}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Returns the first rights of a user: `read public, write archive and 3 more`. */
function rightsText({ grants, grantCount }: ListedUser): string {
  if (grantCount === 0) return 'nothing yet';
  const shown = grants.slice(0, GRANTS_LISTED_MAX).map(({ mode, database }) => {
    return `${modeText(mode)} ${database === ALL_DATABASES ? 'all databases' : database}`;
  });
  const left = grantCount - shown.length;
  if (shown.length === 0) return `something in ${counted(grantCount, 'database')}`;
  return shown.join(', ') + (left === 0 ? '' : ` and ${left} more`);
}

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { userName } from '../../core/session.js';
import { sqlRows } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { reload, reloadCount } from '../../time/page-range.js';
import { Confirm } from '../../widgets/confirm.js';
import { ActionMessage, useActions } from '../../widgets/use-action.js';
import { ALL_DATABASES, GRANT_MODES, grant, modeText, revoke, type GrantMode, type UserGrant } from './user-sql.js';

const DATABASES = 'SELECT schema_name AS name FROM information_schema.schemata ORDER BY 1';

/** What a user may do in each database, with fields that grant and revoke. */
export function GrantList({ user, grants }: { readonly user: string; readonly grants: readonly UserGrant[] }) {
  const actions = useActions();
  const revoked = useSignal<string | undefined>(undefined);
  const change = async (work: () => Promise<void>, done: string): Promise<void> => {
    await actions.run(async () => {
      await work();
      return done;
    });
    reload();
  };
  return (
    <section class="panel stack" aria-label="Rights">
      <h3>Rights</h3>
      {grants.length === 0 ? (
        <p class="dim">The user may do nothing yet.</p>
      ) : (
        <table class="plain" aria-label="Rights by database">
          <thead>
            <tr>
              <th scope="col">Database</th>
              <th scope="col">May</th>
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {grants.map(({ mode, database }) => (
              <tr key={database}>
                <th scope="row">
                  <bdi>{databaseText(database)}</bdi>
                </th>
                <td>{modeText(mode)}</td>
                <td>
                  <button
                    type="button"
                    disabled={actions.isRunning}
                    aria-label={`Revoke all rights on ${databaseText(database)}`}
                    onClick={() => (revoked.value = database)}
                  >
                    Revoke all
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <GrantForm user={user} isRunning={actions.isRunning} onChange={(work, done) => void change(work, done)} />
      <ActionMessage actions={actions} />
      {revoked.value !== undefined && (
        <RevokeDialog
          user={user}
          database={revoked.value}
          onConfirm={(database) => {
            revoked.value = undefined;
            void change(() => revoke(user, 'ALL', database), `All rights on ${databaseText(database)} were revoked.`);
          }}
          onClose={() => (revoked.value = undefined)}
        />
      )}
    </section>
  );
}

interface RevokeDialogProps {
  readonly user: string;
  readonly database: string;
  readonly onConfirm: (database: string) => void;
  readonly onClose: () => void;
}

function RevokeDialog({ user, database, onConfirm, onClose }: RevokeDialogProps) {
  return (
    <Confirm title="Revoke these rights?" action="Revoke" onConfirm={() => onConfirm(database)} onClose={onClose}>
      <p>
        <bdi>{user}</bdi> loses all rights on <bdi>{databaseText(database)}</bdi>.
        {user === userName.value && ' You are signed in by this name.'}
      </p>
    </Confirm>
  );
}

function databaseText(database: string): string {
  return database === ALL_DATABASES ? 'all databases' : database;
}

interface GrantFormProps {
  readonly user: string;
  readonly isRunning: boolean;
  /** Called with what to do, and what to say when it is done. */
  readonly onChange: (work: () => Promise<void>, done: string) => void;
}

function GrantForm({ user, isRunning, onChange }: GrantFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const mode = useSignal<GrantMode>('READ');
  const database = useSignal('public');
  // Any name may be typed: rights may be granted before the database exists.
  const { value: names = [] } = useLoaded(
    async (signal) => sqlRows<{ readonly name: string }>(DATABASES, { database: 'public', signal }),
    [reloadCount.value],
  );
  const what = `${GRANT_MODES[mode.value]} on ${databaseText(database.value)}`;
  return (
    <form
      ref={form}
      class="row"
      aria-label="Grant or revoke"
      onSubmit={(event) => {
        event.preventDefault();
        const [chosen, on] = [mode.value, database.value];
        onChange(() => grant(user, chosen, on), `Granted: ${what}.`);
      }}
    >
      <label class="row tight">
        May
        <select value={mode.value} onChange={({ currentTarget }) => (mode.value = currentTarget.value as GrantMode)}>
          {Object.entries(GRANT_MODES).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="row tight">
        database, or * for all
        <input
          required
          maxLength={255}
          list="grant-databases"
          autocomplete="off"
          value={database}
          onInput={({ currentTarget }) => (database.value = currentTarget.value)}
        />
      </label>
      <datalist id="grant-databases">
        <option value={ALL_DATABASES} />
        {names.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" disabled={isRunning}>
        Grant
      </button>
      <button
        type="button"
        disabled={isRunning}
        onClick={() => {
          if (form.current?.reportValidity() !== true) return;
          const [chosen, on] = [mode.value, database.value];
          onChange(() => revoke(user, chosen, on), `Revoked: ${what}.`);
        }}
      >
        Revoke
      </button>
    </form>
  );
}

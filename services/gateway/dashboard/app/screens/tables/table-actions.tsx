import { useSignal } from '@preact/signals';

import { messageOf } from '../../core/http.js';
import { openScreen } from '../../core/route.js';
import { readSchema } from '../../data/schema.js';
import { database, quotedName, quotedText, runSql } from '../../data/sql.js';
import { mayAdminister } from '../../shell/available.js';
import { reload } from '../../time/page-range.js';

/** Statements that change how a table is stored. Dropping needs the name of the table. */
export function TableActions({ table }: { readonly table: string }) {
  const message = useSignal<ActionMessage | undefined>(undefined);
  const isRunning = useSignal(false);
  const ttl = useSignal('');
  const typed = useSignal('');
  const newName = useSignal('');
  const run = async (statement: string, done: string): Promise<boolean> => {
    isRunning.value = true;
    try {
      await runSql(statement);
      message.value = { text: done, isError: false };
      void readSchema(database(), true);
      reload();
      return true;
    } catch (error) {
      message.value = { text: messageOf(error), isError: true };
      return false;
    } finally {
      isRunning.value = false;
    }
  };
  const drop = async (): Promise<void> => {
    if (await run(`DROP TABLE ${quotedName(table)}`, `${table} was dropped.`)) openScreen('tables');
  };
  const rename = async (): Promise<void> => {
    const name = newName.value.trim();
    if (await run(`ALTER TABLE ${quotedName(table)} RENAME ${quotedName(name)}`, `${table} is called ${name} now.`)) {
      openScreen('tables', { t: name });
    }
  };
  const setTtl = `ALTER TABLE ${quotedName(table)} SET 'ttl' = ${quotedText(ttl.value.trim())}`;
  return (
    <section class="panel stack" aria-label="Actions">
      {mayAdminister() && (
        <div class="row">
          <button
            type="button"
            disabled={isRunning.value}
            onClick={() => void run(`ADMIN flush_table(${quotedText(table)})`, 'All rows are in segments.')}
          >
            Flush
          </button>
          <button
            type="button"
            disabled={isRunning.value}
            onClick={() => void run(`ADMIN compact_table(${quotedText(table)})`, 'The segments are merged.')}
          >
            Merge segments
          </button>
        </div>
      )}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void run(setTtl, `Rows are kept for ${ttl.value.trim()}.`);
        }}
      >
        <label class="row tight">
          Keep rows for
          <input
            placeholder="30d, forever"
            required
            value={ttl}
            onInput={({ currentTarget }) => (ttl.value = currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isRunning.value}>
          Set
        </button>
      </form>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void rename();
        }}
      >
        <label class="row tight">
          New name
          <input required value={newName} onInput={({ currentTarget }) => (newName.value = currentTarget.value)} />
        </label>
        <button type="submit" disabled={isRunning.value}>
          Rename
        </button>
      </form>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void drop();
        }}
      >
        <label class="row tight">
          To drop the table and its rows, type its name
          <input
            autocomplete="off"
            value={typed}
            onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
          />
        </label>
        <button type="submit" class="danger" disabled={isRunning.value || typed.value !== table}>
          Drop
        </button>
      </form>
      <Message value={message.value} />
    </section>
  );
}

interface ActionMessage {
  readonly text: string;
  readonly isError: boolean;
}

function Message({ value }: { readonly value: ActionMessage | undefined }) {
  if (value === undefined) return null;
  return (
    <p class={value.isError ? 'error' : 'good'} role={value.isError ? 'alert' : 'status'}>
      {value.text}
    </p>
  );
}

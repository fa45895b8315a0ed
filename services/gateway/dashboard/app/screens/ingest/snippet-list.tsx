import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { isAbort } from '../../core/http.js';
import { SERVER_URL } from '../../core/origin.js';
import { linkTo } from '../../core/route.js';
import { userName } from '../../core/session.js';
import { database, quotedText, sqlRows } from '../../data/sql.js';
import { CommandPanel } from '../../widgets/command-panel.js';
import { snippetsFor } from './snippets.js';

const CHECK_MS = 2000;

/** Settings for the programs that send data, with the address of this server. */
export function SnippetList() {
  const all = snippetsFor({ url: SERVER_URL, database: database(), user: userName.value });
  return (
    <div class="stack">
      <FirstData />
      <div class="ingest-snippets">
        {all.map((snippet) => (
          <CommandPanel key={snippet.title} {...snippet} />
        ))}
      </div>
    </div>
  );
}

/** Waits for the first table of the database, so that people see at once that their program is set up right. */
function FirstData() {
  const tableCount = useSignal<number | undefined>(undefined);
  const name = database();
  const hasData = (tableCount.value ?? 0) > 0;
  useEffect(() => {
    if (hasData) return;
    const abort = new AbortController();
    const check = (): void => {
      sqlRows<{ count: bigint }>(
        "SELECT count(*) AS count FROM information_schema.tables WHERE table_type = 'BASE TABLE' " +
          `AND table_schema = ${quotedText(name)}`,
        { signal: abort.signal },
      ).then(
        ([row]) => (tableCount.value = Number(row.count)),
        (error: unknown) => {
          if (!isAbort(error)) tableCount.value = undefined;
        },
      );
    };
    check();
    const timer = setInterval(check, CHECK_MS);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [name, hasData]);
  return (
    <p role="status" class={hasData ? 'good' : 'dim'}>
      {hasData ? (
        <>
          ✓ Data has arrived in {name}. <a href={linkTo('tables')}>See the tables</a>
        </>
      ) : (
        `Waiting for the first data in ${name}…`
      )}
    </p>
  );
}

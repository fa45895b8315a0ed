import { useSignal } from '@preact/signals';

import { linkTo, openScreen } from '../../core/route.js';
import { readSchema } from '../../data/schema.js';
import { database, quotedName, runSql } from '../../data/sql.js';
import { reload } from '../../time/page-range.js';
import { Confirm } from '../../widgets/confirm.js';
import { ActionMessage, useActions } from '../../widgets/use-action.js';

/** What the editor shows first for a new view. */
export const VIEW_TEMPLATE = `CREATE VIEW my_view AS
SELECT host, ts, value
FROM my_table
WHERE value > 0`;

/** Changes a view in the editor, or deletes it. @param props `definition`: the statement that creates the view. */
export function ViewActions({ view, definition }: { readonly view: string; readonly definition: string }) {
  const actions = useActions();
  const isAsking = useSignal(false);
  const drop = async (): Promise<void> => {
    isAsking.value = false;
    const isDone = await actions.run(async () => {
      await runSql(`DROP VIEW ${quotedName(view)}`);
      return 'The view was deleted.';
    });
    if (!isDone) return;
    void readSchema(database(), true);
    reload();
    openScreen('tables');
  };
  return (
    <section class="panel stack" aria-label="Actions">
      <div class="row">
        <a class="button" href={linkTo('query', { q: definition.replace(/^CREATE VIEW/, 'CREATE OR REPLACE VIEW') })}>
          Change in Query
        </a>
        <button type="button" class="danger" disabled={actions.isRunning} onClick={() => (isAsking.value = true)}>
          Delete the view
        </button>
      </div>
      <ActionMessage actions={actions} />
      {isAsking.value && (
        <Confirm
          title="Delete this view?"
          action="Delete"
          onConfirm={() => void drop()}
          onClose={() => (isAsking.value = false)}
        >
          <p>
            <bdi>{view}</bdi> is a query: no rows are lost. Queries, views and flows that read it fail.
          </p>
        </Confirm>
      )}
    </section>
  );
}

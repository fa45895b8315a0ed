import { useSignal } from '@preact/signals';

import { messageOf, RequestError } from '../../core/http.js';
import { openScreen } from '../../core/route.js';
import { dashboardText, type DashboardDocument } from './document.js';
import { writeDashboard } from './stored-dashboards.js';

/** Stores a dashboard under a name that no other has, and opens it. @throws RequestError, or an Error if the name is taken. */
export async function createDashboard(name: string, document: DashboardDocument, isEdited: boolean): Promise<void> {
  try {
    await writeDashboard(name, dashboardText(document), undefined);
  } catch (error) {
    if (error instanceof RequestError && error.status === 412) throw new Error(`There is a dashboard ${name} already.`);
    throw error;
  }
  openScreen('dashboards', { d: name, edit: isEdited ? 'true' : undefined });
}

/** Makes an empty dashboard. */
export function NewDashboardForm() {
  const name = useSignal('');
  const failure = useSignal('');
  const make = async (): Promise<void> => {
    const title = name.value.trim();
    try {
      await createDashboard(title, { title, variables: [], range: undefined, panels: [] }, true);
    } catch (error) {
      failure.value = messageOf(error);
    }
  };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <label class="row tight">
        New dashboard
        <input
          required
          maxLength={100}
          placeholder="name"
          value={name}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Create
      </button>
      {failure.value !== '' && (
        <span class="bad" role="alert">
          <bdi>{failure}</bdi>
        </span>
      )}
    </form>
  );
}

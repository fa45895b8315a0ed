import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { messageOf } from '../../core/http.js';
import { pageRange } from '../../time/page-range.js';
import { dashboardText, parseDashboard, type DashboardDocument, type DashboardVariable } from './document.js';

/** A dashboard that is changed. */
export interface DocumentFormProps {
  readonly document: DashboardDocument;
  readonly onChange: (document: DashboardDocument) => void;
}

const MODES: Readonly<Record<DashboardVariable['mode'], string>> = {
  promql: 'label_values(..) of PromQL',
  sql: 'first column of SQL',
  list: 'values between commas',
};
const VARIABLES_MAX = 50;

/** Fields of a dashboard besides its panels. */
export function DocumentForm({ document, onChange }: DocumentFormProps) {
  const { title, variables, range } = document;
  const isJson = useSignal(false);
  const { from, to } = pageRange.value;
  return (
    <section class="panel stack" aria-label="Dashboard">
      <div class="row">
        <label class="row tight">
          Title
          <input value={title} onInput={({ currentTarget }) => onChange({ ...document, title: currentTarget.value })} />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={range !== undefined}
            onChange={({ currentTarget }) =>
              onChange({ ...document, range: currentTarget.checked ? { from, to } : undefined })
            }
          />
          Opens with the range {range === undefined ? 'of the page' : `${range.from} to ${range.to}`}
        </label>
        <button
          type="button"
          disabled={variables.length >= VARIABLES_MAX}
          onClick={() => onChange({ ...document, variables: [...variables, newVariable(variables)] })}
        >
          Add a variable
        </button>
        <button type="button" aria-expanded={isJson.value} onClick={() => (isJson.value = !isJson.value)}>
          Edit as JSON
        </button>
      </div>
      <VariableFields document={document} onChange={onChange} />
      {isJson.value && <JsonField document={document} onChange={onChange} />}
    </section>
  );
}

function newVariable(variables: readonly DashboardVariable[]): DashboardVariable {
  const taken = new Set(variables.map(({ name }) => name));
  let number = variables.length + 1;
  while (taken.has(`variable_${number}`)) number++;
  return { name: `variable_${number}`, mode: 'promql', query: '' };
}

function VariableFields({ document, onChange }: DocumentFormProps) {
  const { variables } = document;
  const set = (at: number, change: Partial<DashboardVariable>): void => {
    const next = variables.map((variable, i) => (i === at ? { ...variable, ...change } : variable));
    onChange({ ...document, variables: next });
  };
  return (
    <>
      {variables.map(({ name, mode, query }, at) => (
        <div key={at} class="row" role="group" aria-label={`Variable ${name}`}>
          <label class="row tight">
            Variable
            <input
              required
              pattern="[A-Za-z_]\w*"
              value={name}
              onChange={({ currentTarget }) => {
                const isFree = variables.every((other, i) => i === at || other.name !== currentTarget.value);
                if (currentTarget.validity.valid && isFree) set(at, { name: currentTarget.value });
                else currentTarget.value = name;
              }}
            />
          </label>
          <label class="row tight">
            Values are
            <select
              value={mode}
              onChange={({ currentTarget }) => set(at, { mode: currentTarget.value as DashboardVariable['mode'] })}
            >
              {Object.entries(MODES).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <label class="row tight grow">
            From
            <input
              class="mono grow"
              value={query}
              onInput={({ currentTarget }) => set(at, { query: currentTarget.value })}
            />
          </label>
          <button
            type="button"
            aria-label={`Remove variable ${name}`}
            onClick={() => onChange({ ...document, variables: variables.toSpliced(at, 1) })}
          >
            Remove
          </button>
        </div>
      ))}
    </>
  );
}

function JsonField({ document, onChange }: DocumentFormProps) {
  const failure = useSignal('');
  // What is typed stays as it is, even while it is no JSON.
  const text = useSignal(dashboardText(document));
  useEffect(() => {
    // Other fields changed the dashboard.
    if (storedForm(text.peek()) !== dashboardText(document)) text.value = dashboardText(document);
  }, [document]);
  return (
    <label>
      The whole dashboard
      <textarea
        class="mono dashboard-text"
        rows={16}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
          try {
            onChange(parseDashboard(currentTarget.value));
            failure.value = '';
          } catch (error) {
            failure.value = messageOf(error);
          }
        }}
      />
      {failure.value !== '' && (
        <span class="bad" role="alert">
          <bdi>{failure}</bdi>
        </span>
      )}
    </label>
  );
}

/** Returns a text as it would be stored; undefined while it cannot be read. */
function storedForm(text: string): string | undefined {
  try {
    return dashboardText(parseDashboard(text));
  } catch {
    return undefined;
  }
}

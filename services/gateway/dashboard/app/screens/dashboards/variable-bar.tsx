import { useEffect } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { useSettled } from '../../data/use-settled.js';
import type { DashboardVariable } from './document.js';
import type { MacroValues } from './macros.js';
import { linkedValues, linkText, loadValues, variableParameter } from './variable-values.js';

/** The variables, and the handler of their chosen values. */
export interface VariableBarProps {
  readonly variables: readonly DashboardVariable[];
  readonly values: MacroValues;
  readonly onValue: (name: string, chosen: readonly string[]) => void;
}

/** Pause after which the values of a query that is typed are loaded. */
const TYPED_MS = 500;

/** Lists of the values of variables, in their order: a list may depend on the choices before it. */
export function VariableBar({ variables, values, onValue }: VariableBarProps) {
  const chosen = values.variables;
  return (
    <div class="row">
      {variables.map((variable, i) => {
        const before = variables.slice(0, i).map(({ name }) => name);
        // Those before it are not known yet.
        if (!before.every((name) => Object.hasOwn(chosen, name))) return null;
        return (
          <VariableList
            key={variable.name}
            variable={variable}
            values={values}
            dependsOn={JSON.stringify(before.map((name) => chosen[name]))}
            onValue={(value) => onValue(variable.name, value)}
          />
        );
      })}
    </div>
  );
}

interface VariableListProps {
  readonly variable: DashboardVariable;
  readonly values: MacroValues;
  readonly dependsOn: string;
  readonly onValue: (chosen: readonly string[]) => void;
}

function VariableList({ variable, values, dependsOn, onValue }: VariableListProps) {
  const { name, mode, query } = variable;
  const { value, failure } = useLoaded(
    (signal) => loadValues(variable, values, signal),
    [name, mode, useSettled(query, TYPED_MS), dependsOn, database(), values.range],
  );
  const linked = linkedValues(name);
  const chosen = linked ?? value?.slice(0, 1);
  const key = JSON.stringify(chosen);
  useEffect(() => {
    // Without any value its queries run with none, rather than never.
    if (chosen !== undefined || failure !== '') onValue(chosen ?? []);
  }, [key, failure]);
  const shown = [...new Set([...(chosen ?? []), ...(value ?? [])])];
  return (
    <label class="row tight">
      <bdi>{name}</bdi>
      <select
        value={linkText(chosen ?? [])}
        title={failure}
        onChange={({ currentTarget }) => setParameters({ [variableParameter(name)]: currentTarget.value })}
      >
        {linked !== undefined && linked.length > 1 && <option value={linkText(linked)}>{linked.join(', ')}</option>}
        {shown.map((each) => (
          <option key={each} value={linkText([each])}>
            {each}
          </option>
        ))}
      </select>
      {failure !== '' && (
        <span class="bad" role="alert">
          <bdi>{failure}</bdi>
        </span>
      )}
    </label>
  );
}

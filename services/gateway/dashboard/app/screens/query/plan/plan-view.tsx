import './plan.css';

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { isAbort, messageOf } from '../../../core/http.js';
import { sqlRows } from '../../../data/sql.js';
import { counted } from '../../../format/counted.js';
import { countText, secondsText } from '../../../format/numbers.js';
import { parsePlan, type PlanNode, type QueryPlan } from './plan-tree.js';

/** How a query is run: what is read of its tables, and the operators of the engine. */
export function PlanView({ statement }: { readonly statement: string }) {
  const plan = useSignal<QueryPlan | undefined>(undefined);
  const failure = useSignal('');
  // It is run again only when the user wants that: it may be long.
  const measured = useSignal('');
  const isMeasured = measured.value === statement;
  const isLoading = useSignal(true);
  useEffect(() => {
    const abort = new AbortController();
    isLoading.value = true;
    loadPlan(statement, isMeasured, abort.signal).then(
      (loaded) => {
        plan.value = loaded;
        failure.value = '';
        isLoading.value = false;
      },
      (error: unknown) => {
        if (isAbort(error)) return;
        plan.value = undefined;
        failure.value = messageOf(error);
        isLoading.value = false;
      },
    );
    return () => abort.abort();
  }, [statement, isMeasured]);
  return (
    <div class="plan stack">
      <div class="row">
        <button
          type="button"
          disabled={isMeasured || failure.value !== ''}
          onClick={() => (measured.value = statement)}
        >
          Run it and measure
        </button>
        <span role="status" class="dim">
          {isLoading.value ? 'Loading…' : plan.value === undefined ? '' : pathText(plan.value)}
        </span>
      </div>
      {failure.value !== '' && (
        <p class="error" role="alert">
          <bdi>{failure}</bdi>
        </p>
      )}
      {plan.value !== undefined && <Plan {...plan.value} />}
    </div>
  );
}

async function loadPlan(statement: string, isRun: boolean, signal: AbortSignal): Promise<QueryPlan> {
  const rows = await sqlRows<{ readonly plan: string }>(`EXPLAIN ${isRun ? 'ANALYZE ' : ''}FORMAT JSON ${statement}`, {
    signal,
  });
  return parsePlan(rows[0].plan, rows[1].plan);
}

function pathText({ path, took }: QueryPlan): string {
  const [runner, ...reason] = path.split(': ');
  const by = runner === 'kernels' ? 'Kernels run the query' : 'The engine runs the query';
  const why = reason.length === 0 ? '' : `, because: ${reason.join(': ')}`;
  return `${by}${why}. ${took.map(([part, ms]) => `${part} ${secondsText(ms / 1000, 3)}`).join(', ')}`;
}

function Plan({ scans, columns, roots, totalMs }: QueryPlan) {
  return (
    <>
      {scans.length > 0 && (
        <pre class="panel" aria-label="What is read of the tables" tabIndex={0}>
          {scans.join('\n')}
        </pre>
      )}
      {columns.length > 0 && (
        <p class="dim">{columns.map(([what, count]) => `${countText(count)} ${what}`).join(', ')}</p>
      )}
      {roots.length > 0 && (
        <section aria-label="Operators of the engine">
          <ol class="plan-tree">
            {roots.map((root, i) => (
              <Operator key={i} node={root} totalMs={totalMs} />
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function Operator({ node, totalMs }: { readonly node: PlanNode; readonly totalMs: number }) {
  const { name, facts, ms, rows, children, isHot } = node;
  const share = ms === undefined || totalMs === 0 ? 0 : ms / totalMs;
  return (
    <li>
      <div class={isHot ? 'plan-node hot' : 'plan-node'}>
        <b>
          <bdi>{name}</bdi>
        </b>
        {ms !== undefined && (
          <>
            <meter aria-label={`Part of the time in ${name}`} value={share} />
            <span>
              {secondsText(ms / 1000, 3)} ({(100 * share).toFixed(0)} %)
            </span>
          </>
        )}
        {rows !== undefined && (
          <span class="dim">
            {ms === undefined && '~'}
            {counted(rows, 'row')}
          </span>
        )}
        {isHot && <span class="visually-hidden">on the slowest way</span>}
      </div>
      {facts.length > 0 && (
        <dl class="plan-facts">
          {facts.map(([title, text]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>
                <bdi>{text}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {children.length > 0 && (
        <ol>
          {children.map((child, i) => (
            <Operator key={i} node={child} totalMs={totalMs} />
          ))}
        </ol>
      )}
    </li>
  );
}

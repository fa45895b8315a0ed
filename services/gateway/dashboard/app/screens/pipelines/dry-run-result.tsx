import { useLoaded } from '../../data/use-loaded.js';
import { useSettled } from '../../data/use-settled.js';
import { Grid } from '../../widgets/grid.js';
import { nanosecondText } from '../../time/nanosecond-text.js';
import { zone } from '../../time/zones.js';
import { FailureText } from '../../widgets/failure-text.js';
import { dryRun, type DryRun, type DryRunTable } from './pipeline-api.js';
import { sampleItems } from './sample-items.js';

/** After the last key. */
const DELAY_MS = 400;

/** What the pipeline makes of the samples, found out while both are typed. Nothing is stored. */
export function DryRunResult({ pipeline, sample }: { readonly pipeline: string; readonly sample: string }) {
  const [triedPipeline, triedSample] = [useSettled(pipeline, DELAY_MS), useSettled(sample, DELAY_MS)];
  const { items, error, leftOut } = sampleItems(triedSample);
  const canRun = items.length > 0 && triedPipeline.trim() !== '';
  const result = useLoaded<DryRun>(canRun ? (signal) => dryRun(triedPipeline, items, signal) : undefined, [
    triedPipeline,
    triedSample,
  ]);
  const { value, failure, isAway, isLoading } = result;
  if (error !== '') {
    return (
      <p class="error" role="alert">
        {error}
      </p>
    );
  }
  if (!canRun) return <p class="dim">Write a pipeline and samples: the rows appear here.</p>;
  return (
    <div class={isLoading ? 'stack loading-over' : 'stack'}>
      <FailureText text={failure} />
      {value !== undefined && (failure === '' || isAway) && (
        <>
          {value.tables.map((table) => (
            <TableRows key={table.name} table={table} />
          ))}
          <ItemList run={value} />
          {leftOut > 0 && <p class="dim">A dry run takes the first ten items; {leftOut} are left out.</p>}
        </>
      )}
    </div>
  );
}

function TableRows({ table }: { readonly table: DryRunTable }) {
  const columns = table.columns.map(({ name, type, role }) => {
    return { name, type: `${type} ${role}`, isNumber: /int|float/i.test(type) };
  });
  return (
    <Grid
      label={`Rows of ${table.name}`}
      columns={columns}
      rowCount={table.rows.length}
      cell={(column, row) => {
        const text = table.rows[row][column];
        const time = text === undefined ? undefined : timeText(text, table.columns[column].type);
        return { text: time ?? text ?? 'NULL', isSpecial: text === undefined, hint: time && text };
      }}
    />
  );
}

const TIME_DIGITS = new Map([
  ['SECOND', 0],
  ['MILLISECOND', 3],
  ['MICROSECOND', 6],
  ['NANOSECOND', 9],
]);

/** Returns an integer of a column of times as a time of the chosen zone; undefined if it is none. */
function timeText(text: string, type: string): string | undefined {
  const digits = TIME_DIGITS.get(/^TIMESTAMP_(\w+)$/.exec(type)?.[1] ?? '');
  if (digits === undefined || !/^-?\d{1,19}$/.test(text)) return undefined;
  return nanosecondText(BigInt(text) * 10n ** BigInt(9 - digits), zone.value, digits);
}

/** Items that made no row, and what the server remarks on the pipeline. */
function ItemList({ run }: { readonly run: DryRun }) {
  const noted = run.items.filter(({ error, isDropped }) => error !== '' || isDropped);
  if (noted.length === 0 && run.warnings.length === 0) return <p class="good">All items became rows.</p>;
  return (
    <ul class="pipelines-notes" aria-label="Remarks">
      {noted.map(({ item, error, step }) => (
        <li key={item} class={error === '' ? 'dim' : 'bad'}>
          Item {item + 1}: <bdi>{error === '' ? 'dropped' : error}</bdi> {step === '' ? '' : `(${step})`}
        </li>
      ))}
      {run.warnings.map((warning) => (
        <li key={warning} class="warn">
          <bdi>{warning}</bdi>
        </li>
      ))}
    </ul>
  );
}

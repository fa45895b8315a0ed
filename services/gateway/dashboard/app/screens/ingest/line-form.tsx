import { useSignal } from '@preact/signals';

import { messageOf, request, RequestError } from '../../core/http.js';
import { linkTo } from '../../core/route.js';
import { storedSignal } from '../../core/stored.js';
import { database, quotedName } from '../../data/sql.js';
import { countText } from '../../format/numbers.js';
import {
  dataLines,
  doubtfulTimes,
  exampleLine,
  PRECISIONS,
  tableOfLine,
  type DoubtfulTimes,
  type Precision,
} from './line-times.js';
import { rejectedLines, type LineReport } from './rejected-lines.js';

const precision = storedSignal('ingest-lines-unit', 'ns', (value): value is Precision => {
  return typeof value === 'string' && Object.hasOwn(PRECISIONS, value);
});
const draft = storedSignal('ingest-lines', exampleLine(precision.peek()), (value): value is string => {
  return typeof value === 'string';
});

interface Outcome {
  readonly stored: number;
  readonly error: string;
  readonly report: LineReport | undefined;
  /** The table of the first line that was stored. */
  readonly table: string;
}

/** Writes lines, and finds out which of them were stored. Never rejects. */
async function writeLines(lines: string): Promise<Outcome> {
  const all = dataLines(lines);
  try {
    const parameters = { db: database(), precision: precision.peek() };
    await request('v1/lineproto/write', { parameters, body: lines });
    return { stored: all.length, error: '', report: undefined, table: tableOfLine(all[0] ?? '') };
  } catch (error) {
    const message = messageOf(error);
    const isPartial = error instanceof RequestError && message.startsWith('partial write');
    const report = rejectedLines(lines, message);
    const dropped = Number(/dropped=(\d+)$/.exec(message)?.[1] ?? 0);
    const stored = isPartial ? Math.max(0, all.length - report.rejected.size - dropped) : 0;
    const kept = lines.split('\n').filter((_, i) => !report.rejected.has(i + 1));
    const table = tableOfLine(dataLines(kept.join('\n'), 1)[0] ?? '');
    return { stored, error: isPartial ? '' : message, report, table };
  }
}

/** Writes lines that were pasted, and marks those that the server refused. */
export function LineForm() {
  const outcome = useSignal<Outcome | undefined>(undefined);
  const isSending = useSignal(false);
  const doubt = useSignal<DoubtfulTimes | undefined>(undefined);
  const send = async (): Promise<void> => {
    doubt.value = undefined;
    isSending.value = true;
    outcome.value = await writeLines(draft.value);
    isSending.value = false;
  };
  const check = (): void => {
    outcome.value = undefined;
    doubt.value = doubtfulTimes(draft.value, precision.value);
    if (doubt.value === undefined) void send();
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        check();
      }}
    >
      <label>
        Lines
        <textarea
          class="mono"
          rows={12}
          required
          spellcheck={false}
          value={draft}
          aria-describedby="line-times"
          onInput={({ currentTarget }) => {
            draft.value = currentTarget.value;
            doubt.value = undefined;
          }}
        />
      </label>
      <div class="row">
        <label class="row tight">
          Times are in
          <select
            value={precision}
            onChange={({ currentTarget }) => {
              precision.value = currentTarget.value as Precision;
              doubt.value = undefined;
            }}
          >
            {Object.entries(PRECISIONS).map(([unit, title]) => (
              <option key={unit} value={unit}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <span class="dim" id="line-times">
          The time is the last number of a line. Lines without one get the time of their arrival.
        </span>
        <span class="grow" />
        <button type="submit" class="primary" disabled={isSending.value}>
          Write
        </button>
      </div>
      {doubt.value !== undefined && <TimesNotice doubt={doubt.value} onWrite={() => void send()} />}
      {outcome.value !== undefined && <LineOutcome {...outcome.value} />}
    </form>
  );
}

/** What clients of InfluxDB do not say about the reasons that they expect. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['invalid boolean', 'strings are in double quotes, booleans are true or false'],
]);

/** Points out times that are probably in another unit, before they are stored. */
function TimesNotice({ doubt, onWrite }: { readonly doubt: DoubtfulTimes; readonly onWrite: () => void }) {
  const { unit, chosenYear, year } = doubt;
  const chosen = precision.value;
  return (
    <div class="notice stack" role="alert">
      <p>
        With {PRECISIONS[chosen]} these times are in {chosenYear}. With {PRECISIONS[unit]} they are in {year}.
      </p>
      <div class="row">
        <button
          type="button"
          onClick={() => {
            precision.value = unit;
            onWrite();
          }}
        >
          Write with {PRECISIONS[unit]}
        </button>
        <button type="button" onClick={onWrite}>
          Write with {PRECISIONS[chosen]} anyway
        </button>
      </div>
    </div>
  );
}

function LineOutcome({ stored, error, report, table }: Outcome) {
  const rejected = [...(report?.rejected ?? [])];
  const others = error === '' ? (report?.others ?? []) : [error];
  return (
    <div class="stack">
      {stored > 0 && (
        <p class="good" role="status">
          {countText(stored)} {stored === 1 ? 'line was' : 'lines were'} stored.{' '}
          <a href={linkTo('tables')}>See the tables</a>{' '}
          <a href={linkTo('query', { q: `SELECT * FROM ${quotedName(table)} LIMIT 1000` })}>Open in Query</a>
        </p>
      )}
      {(rejected.length > 0 || others.length > 0) && (
        <div class="error" role="alert">
          <p>Not stored:</p>
          <ul>
            {rejected.map(([line, reason]) => (
              <li key={line}>
                line {line}: <bdi>{reason}</bdi>
                {HINTS.has(reason) && `: ${HINTS.get(reason)}`}
              </li>
            ))}
            {others.map((text) => (
              <li key={text}>
                <bdi>{text}</bdi>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

import { useSignal } from '@preact/signals';

import { messageOf, request, RequestError } from '../../core/http.js';
import { linkTo } from '../../core/route.js';
import { storedSignal } from '../../core/stored.js';
import { database } from '../../data/sql.js';
import { countText } from '../../format/numbers.js';
import { rejectedLines, type LineReport } from './rejected-lines.js';

const PRECISIONS = { ns: 'nanoseconds', us: 'microseconds', ms: 'milliseconds', s: 'seconds' } as const;
const draft = storedSignal(
  'ingest-lines',
  'weather,city=Oslo temperature=3.5,humidity=81i\n',
  (value): value is string => {
    return typeof value === 'string';
  },
);

interface Outcome {
  readonly stored: number;
  readonly error: string;
  readonly report: LineReport | undefined;
}

/** Writes lines that were pasted, and marks those that the server refused. */
export function LineForm() {
  const precision = useSignal<keyof typeof PRECISIONS>('ns');
  const outcome = useSignal<Outcome | undefined>(undefined);
  const isSending = useSignal(false);
  const send = async (): Promise<void> => {
    const lines = draft.value;
    const count = lines.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#')).length;
    isSending.value = true;
    try {
      const parameters = { db: database(), precision: precision.value };
      await request('v1/lineproto/write', { parameters, body: lines });
      outcome.value = { stored: count, error: '', report: undefined };
    } catch (error) {
      const message = messageOf(error);
      const isPartial = error instanceof RequestError && message.startsWith('partial write');
      const report = rejectedLines(lines, message);
      const dropped = Number(/dropped=(\d+)$/.exec(message)?.[1] ?? 0);
      const refused = report.rejected.size + dropped;
      outcome.value = { stored: isPartial ? Math.max(0, count - refused) : 0, error: isPartial ? '' : message, report };
    } finally {
      isSending.value = false;
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
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
          onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
        />
      </label>
      <div class="row">
        <label class="row tight">
          Times are in
          <select
            value={precision}
            onChange={({ currentTarget }) => (precision.value = currentTarget.value as keyof typeof PRECISIONS)}
          >
            {Object.entries(PRECISIONS).map(([unit, title]) => (
              <option key={unit} value={unit}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <span class="dim">Lines without a time get that of their arrival.</span>
        <span class="grow" />
        <button type="submit" class="primary" disabled={isSending.value}>
          Write
        </button>
      </div>
      {outcome.value !== undefined && <LineOutcome {...outcome.value} />}
    </form>
  );
}

function LineOutcome({ stored, error, report }: Outcome) {
  const rejected = [...(report?.rejected ?? [])];
  const others = error === '' ? (report?.others ?? []) : [error];
  return (
    <div class="stack">
      {stored > 0 && (
        <p class="good" role="status">
          {countText(stored)} {stored === 1 ? 'line was' : 'lines were'} stored.{' '}
          <a href={linkTo('tables')}>See the tables</a>
        </p>
      )}
      {(rejected.length > 0 || others.length > 0) && (
        <div class="error" role="alert">
          <p>Not stored:</p>
          <ul>
            {rejected.map(([line, reason]) => (
              <li key={line}>
                line {line}: <bdi>{reason}</bdi>
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

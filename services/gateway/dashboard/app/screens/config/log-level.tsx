import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { requestJson } from '../../core/http.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { chosenNode } from '../../widgets/node-picker.js';
import { usePolled } from '../../widgets/use-polled.js';

/** The filter of a log, as `/debug/log_level?output=json` describes it. */
interface LogFilter {
  readonly filter: string;
  /** When the process goes back to `next`, ISO 8601; null: never. */
  readonly until: string | null;
  readonly next: string | null;
}

const PATH = 'debug/log_level';
const TIMES = ['5m', '10m', '30m', '1h', '8h'];
const EVERY_MS = 10_000;

/** Shows the level of the log of a process, and changes it, for some time or until the next start. */
export function LogLevel() {
  const node = chosenNode();
  const { value, error, reload } = usePolled(
    (signal) => requestJson<LogFilter>(PATH, { parameters: { output: 'json', node }, signal }),
    [node],
    EVERY_MS,
  );
  const text = useSignal<string | undefined>(undefined);
  const time = useSignal('10m');
  const isForAll = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const isSaved = useSignal(false);
  useEffect(() => {
    text.value = undefined;
    failure.value = undefined;
    isSaved.value = false;
  }, [node]);
  const apply = async (event: Event): Promise<void> => {
    event.preventDefault();
    failure.value = undefined;
    isSaved.value = false;
    try {
      const limit = time.value === '' ? undefined : time.value;
      await requestJson<LogFilter>(PATH, {
        parameters: { output: 'json', for: limit, node: isForAll.value ? 'all' : node },
        body: text.value ?? value?.filter ?? '',
        headers: { 'content-type': 'text/plain' },
      });
      text.value = undefined;
      isSaved.value = true;
    } catch (thrown) {
      failure.value = thrown;
    }
    reload();
  };
  return (
    <section class="panel stack" aria-labelledby="log-title">
      <div class="row">
        <h2 id="log-title">Log level</h2>
        {value !== undefined && (
          <span role="status">
            <code>{value.filter}</code>
            {value.until !== null && (
              <span class="dim">
                {' '}
                until {civilText(civilOf(Date.parse(value.until), zone.value))}, then <code>{value.next}</code>
              </span>
            )}
            {isSaved.value && <span class="good"> changed</span>}
          </span>
        )}
      </div>
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      <form class="row" onSubmit={(event) => void apply(event)}>
        <label class="row tight">
          Filter
          <input
            class="mono log-filter"
            spellcheck={false}
            aria-describedby="log-hint"
            value={text.value ?? value?.filter ?? ''}
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </label>
        <label class="row tight">
          for
          <select value={time} onChange={({ currentTarget }) => (time.value = currentTarget.value)}>
            {TIMES.map((it) => (
              <option key={it} value={it}>
                {it}
              </option>
            ))}
            <option value="">until the next start</option>
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isForAll}
            onChange={({ currentTarget }) => (isForAll.value = currentTarget.checked)}
          />
          All nodes
        </label>
        <button type="submit">Change</button>
        <span id="log-hint" class="dim">
          A level, and levels of parts: <code>info,gateway=debug</code>
        </span>
      </form>
      {failure.value !== undefined && <LoadFailure error={failure.value} />}
    </section>
  );
}

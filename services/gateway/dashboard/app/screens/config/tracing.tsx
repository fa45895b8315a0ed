import { useSignal } from '@preact/signals';

import { request } from '../../core/http.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { chosenNode } from '../../widgets/node-picker.js';
import { usePolled } from '../../widgets/use-polled.js';

const PATH = 'debug/enable_trace';
const EVERY_MS = 10_000;

/** Shows whether a process records spans of its own work, and turns that on and off. */
export function Tracing() {
  const node = chosenNode();
  const { value, error, reload } = usePolled((signal) => isTracing(node, signal), [node], EVERY_MS);
  const failure = useSignal<unknown>(undefined);
  const change = async (): Promise<void> => {
    failure.value = undefined;
    try {
      await request(PATH, {
        parameters: { node: node ?? 'all' },
        body: String(value !== true),
        headers: { 'content-type': 'text/plain' },
      });
    } catch (thrown) {
      failure.value = thrown;
    }
    reload();
  };
  return (
    <section class="panel stack" aria-labelledby="tracing-title">
      <div class="row">
        <h2 id="tracing-title">Tracing</h2>
        {value !== undefined && (
          <>
            <span role="status">
              {value ? 'Spans of requests are recorded.' : 'Spans of requests are not recorded.'}
            </span>
            <button type="button" onClick={() => void change()}>
              {value ? 'Stop tracing' : 'Start tracing'} {node === undefined ? 'in all processes' : 'in this process'}
            </button>
          </>
        )}
      </div>
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {failure.value !== undefined && <LoadFailure error={failure.value} />}
    </section>
  );
}

async function isTracing(node: string | undefined, signal: AbortSignal): Promise<boolean> {
  const response = await request(PATH, { parameters: { node }, signal });
  return (await response.text()).trim() === 'trace enabled';
}

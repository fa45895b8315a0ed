import './traces.css';

import { traceId } from './traces-state.js';
import { TraceSearch } from './trace-search.js';
import { TraceView } from './trace-view.js';

/** Searches for traces, and shows one. */
export function TracesScreen() {
  return (
    <div class="screen traces">
      <h1 class="visually-hidden">Traces</h1>
      {traceId.value === '' ? <TraceSearch /> : <TraceView key={traceId.value} id={traceId.value} />}
    </div>
  );
}

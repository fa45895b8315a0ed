import './traces.css';

import { lazyComponent } from '../../widgets/lazy.js';
import { hasServiceMap, traceId } from './traces-state.js';
import { TraceSearch } from './trace-search.js';
import { TraceView } from './trace-view.js';

/** Searches for traces, shows one, and which services call each other. */
export function TracesScreen() {
  return (
    <div class="screen traces">
      <h1 class="visually-hidden">Traces</h1>
      <ShownView />
    </div>
  );
}

const LazyServiceMap = lazyComponent(async () => (await import('./services/service-map.js')).ServiceMap);

function ShownView() {
  if (traceId.value !== '') return <TraceView key={traceId.value} id={traceId.value} />;
  return hasServiceMap.value ? <LazyServiceMap /> : <TraceSearch />;
}

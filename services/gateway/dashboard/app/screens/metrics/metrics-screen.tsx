import './metrics.css';

import { useMemo } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { SERVER_URL } from '../../core/origin.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { FailureText } from '../../widgets/failure-text.js';
import { CardinalityTab } from './cardinality-tab.js';
import { loadCatalog, type MetricCatalog } from './catalog.js';
import { LabelsTab } from './labels-tab.js';
import { MetricList } from './metric-list.js';
import { MetricView } from './metric-view.js';
import { chosenMetric, manualReloads, METRICS_TABS, metricsTab, type MetricsTab } from './metrics-state.js';

/** Lists metrics, and shows one of them: its charts, its labels; and what all series consist of. */
export function MetricsScreen() {
  const { value: catalog, failure } = useLoaded(loadCatalog, [manualReloads.value, database()]);
  return (
    <div class="screen metrics">
      <h1 class="visually-hidden">Metrics</h1>
      <FailureText text={failure} />
      {catalog === undefined ? (
        failure === '' && <p class="loading">Loading…</p>
      ) : catalog.metrics.length === 0 ? (
        <NoMetrics />
      ) : (
        <div class="metrics-columns">
          <section class="metrics-list" aria-label="List of metrics">
            {catalog.fault !== '' && (
              <p class="notice">Types, help or numbers of series are missing: {catalog.fault}</p>
            )}
            <MetricList metrics={catalog.metrics} />
          </section>
          <MetricPane catalog={catalog} />
        </div>
      )}
    </div>
  );
}

function MetricPane({ catalog }: { readonly catalog: MetricCatalog }) {
  const name = chosenMetric.value;
  const facts = useMemo(() => {
    const unknown = { name, type: '', help: '', unit: '' };
    return catalog.metrics.find((metric) => metric.name === name) ?? unknown;
  }, [catalog, name]);
  return (
    <section class="metrics-pane stack" aria-label="Chosen metric">
      <h2 class="metrics-title">{name === '' ? 'All metrics' : name}</h2>
      <Tabs />
      <div id="metrics-panel" role="tabpanel" aria-labelledby={`metrics-tab-${metricsTab.value}`}>
        {metricsTab.value === 'cardinality' ? (
          <CardinalityTab />
        ) : name === '' ? (
          <p class="empty">Choose a metric from the list to see its {METRICS_TABS[metricsTab.value].toLowerCase()}.</p>
        ) : metricsTab.value === 'labels' ? (
          <LabelsTab key={name} metric={name} />
        ) : (
          <MetricView key={name} facts={facts} />
        )}
      </div>
    </section>
  );
}

function Tabs() {
  const names = Object.keys(METRICS_TABS) as MetricsTab[];
  const open = (name: MetricsTab): void => setParameters({ tab: name === 'overview' ? undefined : name });
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = names[(names.indexOf(metricsTab.value) + step + names.length) % names.length];
    open(next);
    document.getElementById(`metrics-tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views of metrics" onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          id={`metrics-tab-${name}`}
          type="button"
          role="tab"
          aria-selected={metricsTab.value === name}
          aria-controls="metrics-panel"
          tabIndex={metricsTab.value === name ? 0 : -1}
          onClick={() => open(name)}
        >
          {METRICS_TABS[name]}
        </button>
      ))}
    </div>
  );
}

function NoMetrics() {
  return (
    <div class="stack metrics-none">
      <p>
        The database <code>{database()}</code> has no metrics yet. Send some, for example:
      </p>
      <pre class="panel" tabIndex={0}>
        {`# prometheus.yml
remote_write:
  - url: ${SERVER_URL}/v1/prometheus/write?db=${encodeURIComponent(database())}

# line protocol
curl '${SERVER_URL}/v1/lineproto/write?db=${encodeURIComponent(database())}' \\
  --data-binary 'cpu,host=web-1 usage=0.42'`}
      </pre>
    </div>
  );
}

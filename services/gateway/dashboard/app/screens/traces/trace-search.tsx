import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { linkTo, parameters, setParameters } from '../../core/route.js';
import { SERVER_URL } from '../../core/origin.js';
import { userName } from '../../core/session.js';
import { otlpEnvironment, spanCommand } from '../../data/otlp-snippets.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { counted } from '../../format/counted.js';
import { countText } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import { isRangeValid, pageRange, rangeNow, reload, reloadCount } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { CommandPanel } from '../../widgets/command-panel.js';
import { Icon } from '../../widgets/icons.js';
import { FailureText } from '../../widgets/failure-text.js';
import { microsecondText } from './duration.js';
import { searchTraces, traceOperations, traceServices } from './jaeger.js';
import { ScatterPlot } from './scatter-plot.js';
import { spanTree } from './span-tree.js';
import { isTraceId, parseTags } from './tag-text.js';
import { traceSummary, type TraceSummary } from './trace-summary.js';
import * as state from './traces-state.js';

/** The search for traces and what it found. */
export function TraceSearch() {
  const name = database();
  const { from, to } = pageRange.value;
  const fields = state.searchFields.value;
  const services = useLoaded(traceServices, [name, reloadCount.value]);
  const found = useLoaded(fields.service === '' ? undefined : (signal) => loadSummaries(fields, signal), [
    JSON.stringify(fields),
    name,
    from,
    to,
    reloadCount.value,
  ]);
  const failure = services.failure || (fields.service === '' ? '' : found.failure);
  if (services.value?.length === 0 && failure === '') return <NoTraces />;
  return (
    <>
      <SearchForm services={services.value ?? []} />
      <FailureText text={failure} />
      {fields.service === '' && <SearchHint services={services.value} />}
      {fields.service !== '' && found.value === undefined && failure === '' && <p class="loading">Loading…</p>}
      {fields.service !== '' && found.value !== undefined && (
        <div class={found.isLoading ? 'found-traces stale' : 'found-traces'}>
          <FoundTraces found={found.value} />
        </div>
      )}
    </>
  );
}

function SearchHint({ services }: { readonly services: readonly string[] | undefined }) {
  return (
    <p class="empty">
      {services?.length === 1 ? 'Search for traces' : 'Choose a service'}, or enter the ID of a trace.
    </p>
  );
}

async function loadSummaries(fields: state.SearchFields, signal: AbortSignal): Promise<TraceSummary[]> {
  if (!isRangeValid.peek()) throw new Error('The time range of the address cannot be read: choose one above.');
  const parsed = parseTags(fields.tags);
  if (parsed.failure !== undefined) throw new Error(parsed.failure);
  const traces = await searchTraces(
    {
      service: fields.service,
      operation: fields.operation,
      tags: fields.status === 'error' ? { ...parsed.tags, error: 'true' } : parsed.tags,
      minDuration: fields.min,
      maxDuration: fields.max,
      limit: state.limit.peek(),
      range: rangeNow(),
    },
    signal,
  );
  return traces.map((trace) => traceSummary(spanTree(trace)));
}

function SearchForm({ services }: { readonly services: readonly string[] }) {
  const fields = useSignal(state.searchFields.value);
  const operations = useSignal<readonly string[]>([]);
  const isServiceMissing = useSignal(false);
  const serviceField = useRef<HTMLSelectElement>(null);
  const { service } = fields.value;
  // Before the form is shown: later, it would replace what is entered meanwhile.
  useLayoutEffect(() => void (fields.value = state.searchFields.value), [state.searchFields.value]);
  const onlyService = services.length === 1 ? services[0] : '';
  useEffect(() => {
    if (onlyService !== '' && fields.peek().service === '') set({ service: onlyService });
  }, [state.searchFields.value, onlyService]);
  useEffect(() => {
    operations.value = [];
    if (service === '') return;
    const abort = new AbortController();
    // Without the list a name can still be typed.
    traceOperations(service, abort.signal).then(
      (names) => (operations.value = names),
      () => undefined,
    );
    return () => abort.abort();
  }, [service]);
  const set = (change: Partial<state.SearchFields>): void => {
    fields.value = { ...fields.value, ...change };
  };
  const isKnown = service === '' || services.includes(service);
  return (
    <div class="row trace-forms">
      <form
        class="row trace-form"
        role="search"
        aria-label="Search for traces"
        onSubmit={(event) => {
          event.preventDefault();
          isServiceMissing.value = service === '';
          if (service === '') serviceField.current?.focus();
          else if (!state.setTraceSearch(fields.value)) reload();
        }}
      >
        <select
          ref={serviceField}
          aria-label="Service"
          aria-invalid={isServiceMissing.value}
          value={service}
          onChange={({ currentTarget: { value } }) => {
            isServiceMissing.value = false;
            set({ service: value, operation: '' });
            state.setTraceSearch(fields.value);
          }}
        >
          <option value="">Service</option>
          {!isKnown && <option value={service}>{service}</option>}
          {services.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <select
          aria-label="Operation"
          value={fields.value.operation}
          onChange={({ currentTarget: { value } }) => set({ operation: value })}
        >
          <option value="">All operations</option>
          {fields.value.operation !== '' && !operations.value.includes(fields.value.operation) && (
            <option value={fields.value.operation}>{fields.value.operation}</option>
          )}
          {operations.value.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <TextField label="Tags" hint="http.route=/pay" value={fields.value.tags} onText={(tags) => set({ tags })} />
        <TextField label="Min duration" hint="min 5ms" value={fields.value.min} onText={(min) => set({ min })} />
        <TextField label="Max duration" hint="max 2s" value={fields.value.max} onText={(max) => set({ max })} />
        <select
          aria-label="Status"
          value={fields.value.status}
          onChange={({ currentTarget: { value } }) => set({ status: value })}
        >
          <option value="">Any status</option>
          <option value="error">Errors</option>
        </select>
        <input
          type="number"
          aria-label="Limit"
          title="Traces at most"
          min={1}
          max={1500}
          value={fields.value.limit}
          onInput={({ currentTarget: { value } }) => set({ limit: value })}
        />
        <button type="submit" class="primary">
          <Icon name="search" /> Search
        </button>
        {isServiceMissing.value && (
          <span class="bad" role="alert">
            Choose a service
          </span>
        )}
      </form>
      <OpenForm />
    </div>
  );
}

function OpenForm() {
  const id = useSignal('');
  return (
    <form
      class="row trace-form"
      aria-label="Open a trace"
      onSubmit={(event) => {
        event.preventDefault();
        if (isTraceId(id.value)) state.openTrace(id.value.trim().toLowerCase());
      }}
    >
      <input
        type="text"
        class="mono"
        aria-label="Trace ID"
        placeholder="Trace ID"
        spellcheck={false}
        value={id}
        aria-invalid={id.value.trim() !== '' && !isTraceId(id.value)}
        onInput={(event) => (id.value = event.currentTarget.value)}
      />
      <button type="submit" disabled={!isTraceId(id.value)}>
        Open
      </button>
      <button type="button" onClick={() => setParameters({ view: 'services' })}>
        Service map
      </button>
    </form>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onText: (text: string) => void;
}

function TextField({ label, hint, value, onText }: TextFieldProps) {
  return (
    <input
      type="text"
      class={label === 'Tags' ? 'mono grow' : 'mono duration'}
      aria-label={label}
      placeholder={hint}
      spellcheck={false}
      value={value}
      onInput={(event) => onText(event.currentTarget.value)}
      {...(label === 'Tags' ? { 'data-search': '' } : {})}
    />
  );
}

function FoundTraces({ found }: { readonly found: readonly TraceSummary[] }) {
  if (found.length === 0) {
    return <p class="empty">No trace in this time range has been found. Choose a longer one, or remove a condition.</p>;
  }
  return (
    <>
      <ScatterPlot traces={found} />
      <p role="status">
        {counted(found.length, 'trace')}
        {found.length >= state.limit.value ? ', the latest ones; there may be more' : ''}
      </p>
      <div class="trace-table" tabIndex={0} role="region" aria-label="Traces">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Start</th>
              <th scope="col">Trace</th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col" class="number">
                Spans
              </th>
              <th scope="col" class="number">
                Errors
              </th>
              <th scope="col">Services</th>
            </tr>
          </thead>
          <tbody>
            {found.map((trace) => (
              <TraceRow key={trace.traceId} trace={trace} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function TraceRow({ trace }: { readonly trace: TraceSummary }) {
  const { traceId, service, operation, startUs, durationUs, spanCount, errorCount, services } = trace;
  return (
    <tr>
      <td class="mono">{civilText(civilOf(Math.floor(startUs / 1000), zone.value), 3)}</td>
      <td class="trace-name">
        <a href={linkTo('traces', { ...Object.fromEntries(parameters.value), id: traceId })}>
          <bdi>{service}</bdi> <bdi>{operation}</bdi>
        </a>{' '}
        <span class="dim mono">{traceId.slice(0, 8)}</span>
      </td>
      <td class="number">{microsecondText(durationUs)}</td>
      <td class="number">{countText(spanCount)}</td>
      <td class={errorCount > 0 ? 'number bad' : 'number'}>{countText(errorCount)}</td>
      <td>
        <bdi>{services.slice(0, 6).join(', ')}</bdi>
        {services.length > 6 && <span class="dim"> and {services.length - 6} more</span>}
      </td>
    </tr>
  );
}

function NoTraces() {
  const target = { url: SERVER_URL, database: database(), user: userName.value };
  return (
    <div class="empty stack">
      <h2>There are no traces yet</h2>
      <p>Send spans to the database {target.database} from any OpenTelemetry SDK or Collector:</p>
      <CommandPanel title="OpenTelemetry SDK" file="environment" text={otlpEnvironment(target)} />
      <CommandPanel title="curl, a span in OTLP JSON" text={spanCommand(target)} />
      <p>Then load this page again (r).</p>
    </div>
  );
}

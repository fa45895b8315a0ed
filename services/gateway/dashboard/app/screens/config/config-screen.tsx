import '../../style/data.css';
import './config.css';

import { useMemo } from 'preact/hooks';

import { request } from '../../core/http.js';
import { parameter, setParameters } from '../../core/route.js';
import { countText } from '../../format/numbers.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { chosenNode, NodePicker } from '../../widgets/node-picker.js';
import { usePolled } from '../../widgets/use-polled.js';
import { filterConfig, parseConfig, type ConfigSection } from './config-text.js';
import { LogLevel } from './log-level.js';

/** The configuration of a process, as it is in effect, and the level of its log. */
export function ConfigScreen() {
  const node = chosenNode();
  const { value, error, isLoading, reload } = usePolled((signal) => loadConfig(node, signal), [node]);
  const search = parameter('s');
  const isChangedOnly = parameter('changed') === 'true';
  const shown = useMemo(() => filterConfig(value ?? [], { search, isChangedOnly }), [value, search, isChangedOnly]);
  const count = shown.reduce((sum, { entries }) => sum + entries.length, 0);
  return (
    <div class="screen config">
      <h1 class="visually-hidden">Configuration</h1>
      <div class="row">
        <NodePicker />
        <input
          type="search"
          aria-label="Search keys"
          placeholder="Search keys and values"
          value={search}
          onInput={({ currentTarget: { value: text } }) =>
            setParameters({ s: text === '' ? undefined : text }, { replaces: true })
          }
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isChangedOnly}
            onChange={({ currentTarget: { checked } }) => setParameters({ changed: checked ? 'true' : undefined })}
          />
          Changed from the default
        </label>
        {value !== undefined && (
          <span role="status" class="dim">
            {count === 1 ? '1 key' : `${countText(count)} keys`}
          </span>
        )}
      </div>
      <LogLevel />
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && shown.length === 0 && (
        <p class="empty">{search === '' ? 'Every key has its default.' : `No key, value or source has “${search}”.`}</p>
      )}
      <div class={isLoading ? 'stack stale' : 'stack'}>
        {shown.map((section) => (
          <Section key={section.name} section={section} />
        ))}
      </div>
    </div>
  );
}

async function loadConfig(node: string | undefined, signal: AbortSignal): Promise<readonly ConfigSection[]> {
  const response = await request('config', { parameters: { sources: 'true', node }, signal });
  return parseConfig(await response.text());
}

function Section({ section: { name, entries } }: { readonly section: ConfigSection }) {
  const title = name === '' ? 'Top level' : name;
  return (
    <details open class="panel config-section">
      <summary>
        <h2>{title}</h2>
      </summary>
      <div class="scroll-x">
        <table class="plain" aria-label={title}>
          <thead class="visually-hidden">
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(({ name: key, value, source }) => (
              <tr key={key} class={source === 'default' ? '' : 'changed'}>
                <th scope="row">
                  <code>{key}</code>
                </th>
                <td>
                  <code>{value}</code>
                </td>
                <td class="dim">{source}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

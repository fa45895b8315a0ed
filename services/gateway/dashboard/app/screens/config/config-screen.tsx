import '../../style/data.css';
import './config.css';

import { useMemo } from 'preact/hooks';

import { request } from '../../core/http.js';
import { parameter, setParameters } from '../../core/route.js';
import { countText } from '../../format/numbers.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { chosenNode, NodePicker, NodeSelect } from '../../widgets/node-picker.js';
import { usePolled } from '../../widgets/use-polled.js';
import { differences, filterConfig, parseConfig, type ConfigSection } from './config-text.js';
import { LogLevel } from './log-level.js';
import { Tracing } from './tracing.js';

/** The configuration of a process, as it is in effect, and the level of its log. */
export function ConfigScreen() {
  const node = chosenNode();
  const { value: own, error, isLoading, reload } = usePolled((signal) => loadConfig(node, signal), [node]);
  const compared = parameter('with');
  const { value: other, error: otherError } = usePolled(
    (signal) => (compared === '' ? Promise.resolve(undefined) : loadConfig(compared, signal)),
    [compared],
  );
  const value = useMemo(() => {
    if (own === undefined || compared === '') return own;
    return other && differences(own, other);
  }, [own, other, compared]);
  const search = parameter('s');
  const isChangedOnly = parameter('changed') === 'true';
  const shown = useMemo(() => filterConfig(value ?? [], { search, isChangedOnly }), [value, search, isChangedOnly]);
  const count = shown.reduce((sum, { entries }) => sum + entries.length, 0);
  return (
    <div class="screen config">
      <h1 class="visually-hidden">Configuration</h1>
      <div class="row">
        <NodePicker />
        <NodeSelect label="Compared with" none="none" chosen={compared} parameterName="with" />
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
      <Tracing />
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {otherError !== undefined && <LoadFailure error={otherError} />}
      {value === undefined && error === undefined && otherError === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && shown.length === 0 && <p class="empty">{emptyText(search, compared)}</p>}
      <div class={isLoading ? 'stack stale' : 'stack'}>
        {shown.map((section) => (
          <Section key={section.name} section={section} />
        ))}
      </div>
    </div>
  );
}

function emptyText(search: string, compared: string): string {
  if (search !== '') return `No key, value or source has “${search}”.`;
  return compared === '' ? 'Every key has its default.' : 'Both processes have the same configuration.';
}

async function loadConfig(node: string | undefined, signal: AbortSignal): Promise<readonly ConfigSection[]> {
  const response = await request('config', { parameters: { sources: 'true', node }, signal });
  return parseConfig(await response.text());
}

function Section({ section: { name, entries } }: { readonly section: ConfigSection }) {
  const title = name === '' ? 'Top level' : name;
  const isCompared = entries.some(({ other }) => other !== undefined);
  return (
    <details open class="panel config-section">
      <summary>
        <h2>{title}</h2>
      </summary>
      <div class="scroll-x">
        <table class="plain" aria-label={title}>
          <thead class={isCompared ? '' : 'visually-hidden'}>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
              {isCompared && <th scope="col">In the other process</th>}
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(({ name: key, value, source, other }) => (
              <tr key={key} class={source === 'default' ? '' : 'changed'}>
                <th scope="row">
                  <code>{key}</code>
                </th>
                <td>
                  <code>{value}</code>
                </td>
                {isCompared && (
                  <td>
                    <code>{other}</code>
                  </td>
                )}
                <td class="dim">{source}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

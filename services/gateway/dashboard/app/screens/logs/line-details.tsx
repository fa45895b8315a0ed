import { useMemo } from 'preact/hooks';

import { linkTo } from '../../core/route.js';
import { zone } from '../../time/zones.js';
import { CopyButton } from '../../widgets/copy-button.js';
import { Icon } from '../../widgets/icons.js';
import type { LogLine } from './log-line.js';
import type { LogTable } from './search/log-table.js';
import { nanosecondText } from '../../time/nanosecond-text.js';
import { openContext, searchFor, searchText } from './logs-state.js';
import { withCondition } from './search/search.js';
import { structuredFields } from './structured.js';
import { fieldText } from './search/tail-search.js';
import { traceOf } from './trace-link.js';

const VALUE_MAX = 20_000;
const TRACE_MARGIN_MS = 3_600_000;

/** All fields of a line, and what can be done with it. */
export function LineDetails({ line, table }: { readonly line: LogLine; readonly table: LogTable }) {
  const parsed = useMemo(() => structuredFields(line.text), [line.text]);
  const fields = useMemo(() => searchableFields(line, table), [line, table]);
  const trace = traceOf(line);
  const json = useMemo(() => lineJson(line, table), [line, table]);
  return (
    <div class="line-details">
      <div class="row">
        <button type="button" onClick={() => openContext(contextOf(line, table))}>
          Show context
        </button>
        {trace !== undefined && <a href={traceLink(trace, line)}>Open trace {trace.traceId.slice(0, 8)}…</a>}
        <CopyButton text={json}>
          <Icon name="copy" /> Copy as JSON
        </CopyButton>
      </div>
      <table class="plain">
        <caption class="visually-hidden">Fields of the line</caption>
        <tbody>
          <FieldRow name={table.timeColumn} value={`${nanosecondText(line.timeNs, zone.value, 9)} (${line.timeNs})`} />
          {fields.map(([name, value]) => (
            <FieldRow key={name} name={name} value={value} isSearchable />
          ))}
        </tbody>
      </table>
      {parsed !== undefined && (
        <table class="plain">
          <caption>Parsed from the line</caption>
          <tbody>
            {[...parsed].map(([name, value]) => (
              <FieldRow key={name} name={name} value={value} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

interface FieldRowProps {
  readonly name: string;
  readonly value: string;
  readonly isSearchable?: boolean;
}

function FieldRow({ name, value, isSearchable = false }: FieldRowProps) {
  const add = (operator: '=' | '!='): void => searchFor(withCondition(searchText.value, name, operator, value));
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
      </th>
      <td class="field-buttons">
        {isSearchable && value.length <= 1000 && (
          <>
            <button
              type="button"
              class="icon-button"
              aria-label={`Only lines with this ${name}`}
              title="Only these lines"
              onClick={() => add('=')}
            >
              <Icon name="add" />
            </button>
            <button
              type="button"
              class="icon-button"
              aria-label={`No lines with this ${name}`}
              title="Not these lines"
              onClick={() => add('!=')}
            >
              <Icon name="close" />
            </button>
          </>
        )}
      </td>
      <td>
        <bdi class="field-value">{value.length > VALUE_MAX ? `${value.slice(0, VALUE_MAX)}…` : value}</bdi>
      </td>
    </tr>
  );
}

/** Returns columns, and the members of those with JSON, which can be searched for, too. */
function searchableFields({ fields }: LogLine, { columns, lineColumn }: LogTable): [string, string][] {
  const json = new Set(columns.filter(({ kind }) => kind === 'json').map(({ name }) => name));
  return [...fields].flatMap(([name, value]): [string, string][] => {
    if (!json.has(name) || name === lineColumn) return [[name, value]];
    try {
      const members = Object.entries(JSON.parse(value) as Record<string, unknown>);
      return members.map(([member, it]) => [`${name}.${member}`, typeof it === 'string' ? it : JSON.stringify(it)]);
    } catch {
      return [[name, value]];
    }
  });
}

function contextOf(line: LogLine, table: LogTable) {
  const tags = table.columns.filter(({ isTag }) => isTag).map(({ name }) => name);
  return { timeNs: String(line.timeNs), stream: tags.map((name) => [name, fieldText(line, name, table)] as const) };
}

function traceLink({ traceId, spanId }: { traceId: string; spanId: string }, { timeNs }: LogLine): string {
  const ms = Number(timeNs / 1_000_000n);
  return linkTo('traces', {
    id: traceId,
    ...(spanId === '' ? {} : { span: spanId }),
    from: String(ms - TRACE_MARGIN_MS),
    to: String(ms + TRACE_MARGIN_MS),
  });
}

/** Returns a line as `/v1/logs` does. */
export function lineJson(line: LogLine, { timeColumn }: LogTable): string {
  return JSON.stringify({
    [timeColumn]: `${nanosecondText(line.timeNs, 'UTC', 9).replace(' ', 'T')}Z`,
    ...Object.fromEntries(line.fields),
  });
}

import { isJsonObject, stringifyJson, type JsonObject, type JsonValue } from '../../protocols/common/json.js';
import type { SqlRow } from '../sql-rows.js';
import { FIXED_COUNT, type AttributeColumn } from './span-columns.js';

/** A tag in the members of Jaeger. */
interface Tag extends JsonObject {
  readonly key: string;
  readonly type: string;
  readonly value: JsonValue;
}

const TYPES: Readonly<Record<string, string>> = {
  Boolean: 'bool',
  Int64: 'int64',
  UInt64: 'int64',
  Float64: 'float64',
  Binary: 'binary',
};

/** End of a reply that has no error. */
export function envelopeEnd(total: number): string {
  return `],"total":${total},"limit":0,"offset":0,"errors":[]}`;
}

/**
 * Writes the reply with traces. @param blocks rows of `spanColumns`, those of a trace one after the other; at most one process
 * of a trace is held in memory for each service and resource.
 */
export async function* tracesJson(
  blocks: AsyncIterable<readonly SqlRow[]>,
  attributes: readonly AttributeColumn[],
): AsyncGenerator<Uint8Array, void, undefined> {
  let traceId: JsonValue = null;
  let processes = new Map<string, string>();
  let total = 0;
  let text = '{"data":[';
  for await (const rows of blocks) {
    for (const row of rows) {
      if (row[0] === traceId) text += ',';
      else {
        if (total > 0) text += `${traceEnd(processes)},`;
        traceId = row[0];
        processes = new Map();
        total++;
        text += `{"traceID":${JSON.stringify(traceId)},"spans":[`;
      }
      text += stringifyJson(spanOf(row, attributes, processes));
    }
    yield Buffer.from(text);
    text = '';
  }
  if (total > 0) text += traceEnd(processes);
  yield Buffer.from(text + envelopeEnd(total));
}

/** @param processes ID of each process by its JSON. */
function traceEnd(processes: ReadonlyMap<string, string>): string {
  const members = [...processes].map(([json, id]) => `"${id}":${json}`);
  return `],"processes":{${members.join(',')}},"warnings":null}`;
}

function spanOf(row: SqlRow, attributes: readonly AttributeColumn[], processes: Map<string, string>): JsonObject {
  const [traceId, spanId, parentId, name, service, startUs, durationUs, kind, code, message, state] = row;
  const [scopeName, scopeVersion, events, links] = row.slice(11, FIXED_COUNT);
  const values = row.slice(FIXED_COUNT);
  const tags = [...attributeTags(attributes, values, 'span'), ...attributeTags(attributes, values, 'scope')];
  const addText = (key: string, value: JsonValue): void => {
    if (typeof value === 'string' && value !== '') tags.push({ key, type: 'string', value });
  };
  addText('span.kind', wordOf(kind, 'SPAN_KIND_').toLowerCase());
  addText('otel.status_code', wordOf(code, 'STATUS_CODE_'));
  if (code === 'STATUS_CODE_ERROR') tags.push({ key: 'error', type: 'bool', value: true });
  addText('otel.status_description', message);
  addText('otel.scope.name', scopeName);
  addText('otel.scope.version', scopeVersion);
  addText('w3c.tracestate', state);
  const process = { serviceName: service ?? '', tags: attributeTags(attributes, values, 'resource') };
  return {
    traceID: traceId,
    spanID: spanId,
    operationName: name,
    references: [...parentOf(traceId, parentId), ...objectsOf(links).map(linkOf)],
    startTime: startUs,
    duration: durationUs,
    tags,
    logs: objectsOf(events).map(logOf),
    processID: processId(processes, stringifyJson(process)),
    warnings: null,
  };
}

function processId(processes: Map<string, string>, json: string): string {
  const known = processes.get(json);
  if (known !== undefined) return known;
  const id = `p${processes.size + 1}`;
  processes.set(json, id);
  return id;
}

function parentOf(traceId: JsonValue, parentId: JsonValue): JsonObject[] {
  return parentId === null ? [] : [{ refType: 'CHILD_OF', traceID: traceId, spanID: parentId }];
}

function linkOf({ trace_id: traceId, span_id: spanId }: JsonObject): JsonObject {
  return { refType: 'FOLLOWS_FROM', traceID: traceId, spanID: spanId };
}

function logOf({ name, time, attributes }: JsonObject): JsonObject {
  const fields = isJsonObject(attributes) ? membersTags(attributes) : [];
  return { timestamp: timeUs(time), fields: [{ key: 'event', type: 'string', value: name }, ...fields] };
}

/** Returns the word that follows the prefix; empty for `UNSPECIFIED` and `UNSET`, which say nothing. */
function wordOf(value: JsonValue, prefix: string): string {
  const word = typeof value === 'string' && value.startsWith(prefix) ? value.slice(prefix.length) : '';
  return word === 'UNSPECIFIED' || word === 'UNSET' ? '' : word;
}

function attributeTags(columns: readonly AttributeColumn[], values: SqlRow, owner: AttributeColumn['owner']): Tag[] {
  const tags: Tag[] = [];
  for (const [i, column] of columns.entries()) {
    const value = values[i];
    if (column.owner !== owner || value === null) continue;
    if (column.key === undefined) tags.push(...(isJsonObject(value) ? membersTags(value) : []));
    else tags.push(tagOf(column.key, value, TYPES[column.type]));
  }
  return tags;
}

function membersTags(members: JsonObject): Tag[] {
  return Object.entries(members)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => tagOf(key, value, undefined));
}

/** @param type of Jaeger; undefined if the value decides. */
function tagOf(key: string, value: JsonValue, type: string | undefined): Tag {
  if (typeof value === 'object') return { key, type: 'string', value: stringifyJson(value) };
  if (type !== undefined) return { key, type, value };
  if (typeof value === 'boolean') return { key, type: 'bool', value };
  if (typeof value === 'string') return { key, type: 'string', value };
  return { key, type: Number.isInteger(value) || typeof value === 'bigint' ? 'int64' : 'float64', value };
}

function objectsOf(value: JsonValue): JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}

/** Returns the microseconds of a time such as `2025-01-10 03:49:02.444376+0000`; 0 if it is none. */
function timeUs(value: JsonValue | undefined): number {
  const match = typeof value === 'string' ? /^(\d+-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+0000$/.exec(value) : null;
  if (match === null) return 0;
  const [, date, clock, fraction = ''] = match;
  return Date.parse(`${date}T${clock}Z`) * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}

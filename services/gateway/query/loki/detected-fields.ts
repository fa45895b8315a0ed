import { findLines } from '../../logql/find-lines.js';
import { JsonText, MalformedJson } from '../../logql/stages/json-text.js';
import type { PipelineLine } from '../../logql/line/pipeline-line.js';
import { readLogfmt } from '../../logql/stages/logfmt.js';
import { compileStages } from '../../logql/stages/pipeline.js';
import { labelName } from '../../logql/line/row-labels.js';
import type { LogQuery } from '../../logql/syntax/ast.js';
import { parseLogQuery } from '../../logql/syntax/parse.js';
import { byteCount, durationSeconds } from '../../logql/units.js';
import type { QueryReply } from '../query-route.js';
import { lokiRange, wholeParameter } from './parameters.js';
import type { LokiRequest } from './request.js';

const FIELDS_DEFAULT = 1_000;
const FIELDS_MAX = 10_000;
const LINES_DEFAULT = 1_000;
const LINES_MAX = 5_000;
/** Values of one field that are counted. */
const VALUES_MAX = 5_000;

interface DetectedField {
  readonly values: Set<string>;
  readonly parser: 'json' | 'logfmt' | undefined;
  readonly path: readonly string[] | undefined;
}

/** `detected_fields`: what the last lines hold besides the labels of their streams. */
export async function detectedFields(request: LokiRequest): Promise<QueryReply> {
  const { fields, limit } = await sampledFields(request);
  const shown = [...fields].slice(0, limit).map(([label, { values, parser, path }]) => ({
    label,
    type: typeOf(values),
    cardinality: values.size,
    parsers: parser === undefined ? null : [parser],
    ...(path !== undefined && { jsonPath: path }),
  }));
  return { json: { fields: shown, limit } };
}

/** `detected_field/{name}/values`: the values of one of them. */
export async function detectedFieldValues(request: LokiRequest): Promise<QueryReply> {
  const name = decodeURIComponent(request.context.path.replace(/\/$/, '').split('/').at(-2) ?? '');
  const { fields, limit } = await sampledFields(request);
  return { json: { values: [...(fields.get(name)?.values ?? [])].slice(0, limit), limit } };
}

async function sampledFields(request: LokiRequest): Promise<{ fields: Map<string, DetectedField>; limit: number }> {
  const { form } = request;
  const { startNs, endNs } = lokiRange(form, request.nowNs);
  const limit = Math.min(wholeParameter(form, 'limit', FIELDS_DEFAULT), FIELDS_MAX);
  const lines = Math.min(wholeParameter(form, 'line_limit', LINES_DEFAULT), LINES_MAX);
  const text = form.value('query');
  const query: LogQuery = text === '' ? { kind: 'log', matchers: [], stages: [] } : parseLogQuery(text);
  compileStages(query.stages);
  const fields = new Map<string, DetectedField>();
  const source = await request.source();
  if (source !== undefined) {
    const search = { query, fromNs: startNs, toNs: endNs, isForward: false, limit: lines };
    await findLines(search, source, (line) => {
      addFields(line, (name, value, of) => addValue(fields, name, value, of));
      return true;
    });
  }
  return { fields, limit };
}

type AddField = (name: string, value: string, of: Pick<DetectedField, 'parser' | 'path'>) => void;

function addFields({ labels, text }: PipelineLine, add: AddField): void {
  labels.each((name, value, source) => {
    if (source !== 'stream') add(name, value, { parser: undefined, path: undefined });
  });
  if (/^\s*\{/.test(text)) {
    try {
      new JsonText(text).members((path, value) =>
        add(labelName(path.join('_')), value, { parser: 'json', path: [...path] }),
      );
      return;
    } catch (error) {
      if (!(error instanceof MalformedJson)) throw error;
    }
  }
  readLogfmt(text, (key, value) => {
    // A word without a value is text rather than a field.
    if (value !== '') add(labelName(key), value, { parser: 'logfmt', path: undefined });
  });
}

function addValue(
  fields: Map<string, DetectedField>,
  name: string,
  value: string,
  of: Pick<DetectedField, 'parser' | 'path'>,
): void {
  let field = fields.get(name);
  if (field === undefined) {
    if (fields.size >= FIELDS_MAX) return;
    fields.set(name, (field = { ...of, values: new Set() }));
  }
  if (field.values.size < VALUES_MAX) field.values.add(value);
}

const TYPES: readonly (readonly [string, (text: string) => boolean])[] = [
  ['int', (text) => /^[+-]?\d{1,19}$/.test(text)],
  ['float', (text) => /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)],
  ['boolean', (text) => text === 'true' || text === 'false'],
  ['duration', (text) => durationSeconds(text) !== undefined],
  ['bytes', (text) => byteCount(text) !== undefined],
];

function typeOf(values: ReadonlySet<string>): string {
  return TYPES.find(([, test]) => [...values].every(test))?.[0] ?? 'string';
}

import { isUtf8 } from 'node:buffer';

import type { Tag } from '#shared/rowbatch/series-key';
import { columnOfLabel } from '#shared/schema/label-column';
import { METRIC_NAME, type MetricNames } from '#shared/schema/metric-table';
import { COLUMNS_MAX, NAME_BYTES_MAX } from '#shared/schema/names';
import { isReservedColumn } from '#shared/schema/segment-columns';

import { BYTES, type WireReader } from '#shared/protobuf/wire-reader';

const NAME_FIELD = 1;
const VALUE_FIELD = 2;

/** Labels that say where a series goes; of several the first here wins. */
const DATABASE_LABELS = ['__schema__', '__database__', 'x_greptime_database'];
const TABLE_LABELS = ['__physical_table__', 'x_greptime_physical_table'];
const PLACE_LABELS = new Set([...DATABASE_LABELS, ...TABLE_LABELS]);

/** Labels of messages and exemplars. */
export const JSON_BYTES_MAX = 16 * 1024;

/** As much of labels as is shown where they are too many or too long. */
export const START_CHARACTERS = 256;
const METRIC_NAME_BYTES = Buffer.from(METRIC_NAME);

const LEGACY_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const CONTROL = /[\u0000-\u001f\u007f]/;

/** What labels may be. */
export interface LabelRules {
  /** What is not UTF-8 becomes U+FFFD and is no reason to refuse. */
  readonly isLossy: boolean;
  /** Names are those of before Prometheus 3. */
  readonly isLegacy: boolean;
  /** Columns that are no labels, in lower case. */
  readonly otherColumns: ReadonlySet<string>;
}

export function labelRules(
  config: { readonly promValidationMode: string; readonly nameValidation: string },
  names: MetricNames,
): LabelRules {
  const { timeColumn, valueColumn, histogramColumn, startColumn } = names;
  const columns = [timeColumn, valueColumn, histogramColumn, startColumn].map((name) => name.toLowerCase());
  return {
    isLossy: config.promValidationMode === 'lossy',
    isLegacy: config.nameValidation === 'legacy',
    otherColumns: new Set(columns),
  };
}

/** A series as its labels describe it. */
export interface ParsedSeries {
  readonly metric: string;
  /** Where it goes, if its labels say so. */
  readonly database: string | undefined;
  readonly table: string | undefined;
  /** Labels with a value, by name: the columns that they are kept in. */
  readonly tags: readonly Tag[];
}

interface Label {
  readonly name: string;
  readonly value: Buffer;
}

/** Reads the labels in `[from, to)`, fields with `LABEL_TAG`; a text is the reason to refuse the series. */
export function parseSeries(scanner: WireReader, from: number, to: number, rules: LabelRules): ParsedSeries | string {
  const labels = readLabels(scanner, from, to, rules);
  if (typeof labels === 'string') return labels;
  const byName = new Map<string, Buffer>();
  for (const { name, value } of labels) {
    if (name === '') return 'label without a name';
    if (byName.has(name)) return `duplicate label "${name}"`;
    byName.set(name, value);
  }
  const metric = textOf(byName, METRIC_NAME);
  if (metric === undefined) return 'missing metric name';
  if (!isMetricName(metric)) return `invalid metric name "${metric}"`;
  const tags: Tag[] = [];
  for (const [label, value] of byName) {
    if (value.length === 0 || PLACE_LABELS.has(label)) continue;
    const name = columnOfLabel(label);
    const problem = nameProblem(label, name, rules);
    if (problem !== '') return problem;
    tags.push({ name, value });
  }
  tags.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return { metric, database: firstOf(byName, DATABASE_LABELS), table: firstOf(byName, TABLE_LABELS), tags };
}

export function isMetricName(text: string): boolean {
  return !CONTROL.test(text) && Buffer.byteLength(text) <= NAME_BYTES_MAX;
}

/** The column of a label that is a tag like any other; undefined if it is none. */
export function columnOf(label: string, rules: LabelRules): string | undefined {
  const column = columnOfLabel(label);
  return PLACE_LABELS.has(label) || nameProblem(label, column, rules) !== '' ? undefined : column;
}

/** The labels in `[from, to)` as a JSON object, sorted by name; undefined if they cannot be, or are very long. */
export function labelsJson(scanner: WireReader, from: number, to: number, rules: LabelRules): string | undefined {
  if (to - from > JSON_BYTES_MAX) return undefined;
  const labels = readLabels(scanner, from, to, rules);
  if (typeof labels === 'string') return undefined;
  const kept = labels.filter(({ name, value }) => value.length > 0 && !PLACE_LABELS.has(name));
  kept.sort((a, b) => (a.name < b.name ? -1 : 1));
  return `{${kept.map(({ name, value }) => `${JSON.stringify(name)}:${JSON.stringify(value.toString())}`).join(',')}}`;
}

/** The metric and the first labels in `[from, to)`, however many and long they are, for a message. */
export function labelsStart(scanner: WireReader, from: number, to: number): string {
  let metric = '';
  let others = '';
  for (let at = from; at < to && (metric === '' || others.length < START_CHARACTERS);) {
    const end = scanner.lengthEnd(at + 1, to);
    const { name, value } = readLabel(scanner, scanner.at, end);
    at = end;
    const isMetric = name.equals(METRIC_NAME_BYTES);
    if (!isMetric && others.length >= START_CHARACTERS) continue;
    const [nameText, valueText] = [name, value].map((it) => it.subarray(0, START_CHARACTERS).toString());
    const pair = `${JSON.stringify(nameText)}:${JSON.stringify(valueText)},`;
    if (isMetric) metric = pair;
    else others += pair;
  }
  return `{${metric}${others}..`;
}

function nameProblem(label: string, column: string, { isLegacy, otherColumns }: LabelRules): string {
  if (isLegacy && !LEGACY_NAME.test(label)) return `invalid label name "${label}"`;
  if (Buffer.byteLength(column) > NAME_BYTES_MAX) return `label name "${label}" is longer than ${NAME_BYTES_MAX} bytes`;
  const isTaken = otherColumns.has(column.toLowerCase()) || isReservedColumn(column);
  return isTaken ? `label name "${label}" is reserved` : '';
}

function readLabels(scanner: WireReader, from: number, to: number, { isLossy }: LabelRules): Label[] | string {
  const labels: Label[] = [];
  for (let at = from; at < to;) {
    if (labels.length === COLUMNS_MAX) return `more than ${COLUMNS_MAX} labels`;
    // The tag is one byte: the caller has looked.
    const end = scanner.lengthEnd(at + 1, to);
    const { name, value } = readLabel(scanner, scanner.at, end);
    if (!isLossy && !isUtf8(name)) return 'label name is not valid UTF-8';
    if (!isLossy && !isUtf8(value)) return `value of label "${name.toString()}" is not valid UTF-8`;
    labels.push({ name: name.toString(), value: isUtf8(value) ? value : Buffer.from(value.toString()) });
    at = end;
  }
  return labels;
}

const NOTHING = Buffer.alloc(0);

function readLabel(scanner: WireReader, from: number, end: number): { name: Buffer; value: Buffer } {
  let name: Buffer = NOTHING;
  let value: Buffer = NOTHING;
  for (let at = from; at < end;) {
    const tag = scanner.varint(at, end);
    const start = scanner.at;
    at = scanner.skip(tag, start, end);
    if ((tag & 7) !== BYTES) continue;
    if (tag >>> 3 === NAME_FIELD) name = scanner.bytes.subarray(scanner.at, at);
    else if (tag >>> 3 === VALUE_FIELD) value = scanner.bytes.subarray(scanner.at, at);
  }
  return { name, value };
}

function textOf(labels: ReadonlyMap<string, Buffer>, name: string): string | undefined {
  const value = labels.get(name);
  return value === undefined || value.length === 0 ? undefined : value.toString();
}

function firstOf(labels: ReadonlyMap<string, Buffer>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textOf(labels, name);
    if (text !== undefined) return text;
  }
  return undefined;
}

import { compareNames, type Tag } from '#shared/rowbatch/series-key';
import { columnOfLabel } from '#shared/schema/label-column';
import { METRIC_NAME, type MetricNames } from '#shared/schema/metric-table';
import { NAME_BYTES_MAX } from '#shared/schema/names';
import { isReservedColumn } from '#shared/schema/segment-columns';

/** Labels that name the database or the table of a series; of several the first here counts. */
const DATABASE_LABELS = ['__schema__', '__database__', 'x_greptime_database'];
const TABLE_LABELS = ['__physical_table__', 'x_greptime_physical_table'];
const ROUTING_LABELS = new Set([...DATABASE_LABELS, ...TABLE_LABELS]);

const LEGACY_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Which labels are allowed. */
export interface LabelRules {
  /** Replace bytes that are not UTF-8 by U+FFFD instead of rejecting the series. */
  readonly isLossy: boolean;
  /** Allow only the label names of Prometheus 2. */
  readonly isLegacy: boolean;
  /** Columns of metric tables that are no labels, in lower case. */
  readonly otherColumns: ReadonlySet<string>;
  /** Names that were checked before. */
  readonly checked: Map<string, CheckedLabel>;
}

/** What is known of a label by its name. */
interface CheckedLabel {
  readonly column: string;
  /** Why the label is not allowed; empty if it is. */
  readonly problem: string;
}

const CHECKED_MAX = 10_000;
/** Longer names are checked each time. */
const CHECKED_CHARACTERS_MAX = 256;

/** Returns the rules for metric tables with these columns. */
export function labelRules(
  { isLossy, isLegacy }: Pick<LabelRules, 'isLossy' | 'isLegacy'>,
  { timeColumn, valueColumn, histogramColumn, startColumn }: MetricNames,
): LabelRules {
  const columns = [timeColumn, valueColumn, histogramColumn, startColumn].map((name) => name.toLowerCase());
  return { isLossy, isLegacy, otherColumns: new Set(columns), checked: new Map<string, CheckedLabel>() };
}

/** A label of a series, as it was sent. */
export interface MetricLabel {
  readonly name: string;
  readonly value: Buffer;
}

/** A series as its labels describe it. */
export interface ParsedSeries {
  readonly metric: string;
  /** Database and physical table, where labels name them. */
  readonly database: string | undefined;
  readonly table: string | undefined;
  /** Labels that have a value, as columns, sorted by name. */
  readonly tags: readonly Tag[];
}

/** Checks the labels of a series, the metric name among them. A text is the reason to reject the series. */
export function seriesOfLabels(labels: readonly MetricLabel[], rules: LabelRules): ParsedSeries | string {
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
    if (value.length === 0 || ROUTING_LABELS.has(label)) continue;
    const { column, problem } = checkedLabel(label, rules);
    if (problem !== '') return problem;
    tags.push({ name: column, value });
  }
  sortTags(tags);
  return { metric, database: firstOf(byName, DATABASE_LABELS), table: firstOf(byName, TABLE_LABELS), tags };
}

/** Whether a metric may have the name. */
export function isMetricName(text: string): boolean {
  return !CONTROL.test(text) && Buffer.byteLength(text) <= NAME_BYTES_MAX;
}

/** Returns the column of a label; undefined if the label is not allowed, or does not become a column. */
export function tagColumnOf(label: string, rules: LabelRules): string | undefined {
  const { column, problem } = checkedLabel(label, rules);
  return ROUTING_LABELS.has(label) || problem !== '' ? undefined : column;
}

/** Returns labels as a JSON object, sorted by name, without those that have no value or only route the series. */
export function jsonOfLabels(labels: readonly MetricLabel[]): string {
  const kept = labels.filter(({ name, value }) => value.length > 0 && !ROUTING_LABELS.has(name));
  kept.sort((a, b) => (a.name < b.name ? -1 : 1));
  return `{${kept.map(({ name, value }) => `${JSON.stringify(name)}:${JSON.stringify(value.toString())}`).join(',')}}`;
}

function checkedLabel(label: string, rules: LabelRules): CheckedLabel {
  const { checked } = rules;
  const known = checked.get(label);
  if (known !== undefined) return known;
  const column = columnOfLabel(label);
  const result = { column, problem: nameProblem(label, column, rules) };
  if (checked.size >= CHECKED_MAX) checked.clear();
  if (label.length <= CHECKED_CHARACTERS_MAX) checked.set(label, result);
  return result;
}

/** Sorts by the bytes of the names. Most senders do so already. */
function sortTags(tags: Tag[]): void {
  for (let i = 1; i < tags.length; i++) {
    if (compareNames(tags[i - 1].name, tags[i].name) <= 0) continue;
    tags.sort((a, b) => compareNames(a.name, b.name));
    return;
  }
}

function nameProblem(label: string, column: string, { isLegacy, otherColumns }: LabelRules): string {
  if (isLegacy && !LEGACY_NAME.test(label)) return `invalid label name "${label}"`;
  if (Buffer.byteLength(column) > NAME_BYTES_MAX) return `label name "${label}" is longer than ${NAME_BYTES_MAX} bytes`;
  const isReserved = otherColumns.has(column.toLowerCase()) || isReservedColumn(column);
  return isReserved ? `label name "${label}" is reserved` : '';
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

/** Whether a label names the database or the physical table of its series. */
export function isTargetLabel(name: string): boolean {
  return ROUTING_LABELS.has(name);
}

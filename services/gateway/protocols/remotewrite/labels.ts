import { isUtf8 } from 'node:buffer';

import { BYTES, type WireReader } from '#shared/protobuf/wire-reader';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { COLUMNS_MAX } from '#shared/schema/names';

import {
  jsonOfLabels,
  seriesOfLabels,
  type LabelRules,
  type MetricLabel,
  type ParsedSeries,
} from '../common/metric-labels.js';

const NAME_FIELD = 1;
const VALUE_FIELD = 2;
const METRIC_NAME_BYTES = Buffer.from(METRIC_NAME);
const NO_BYTES = Buffer.alloc(0);

/** Longest labels that messages and exemplars show, in bytes. */
export const JSON_BYTES_MAX = 16 * 1024;
/** Characters of the labels that a message shows where all of them are too many or too long. */
export const START_CHARACTERS = 256;

/**
 * Parses the labels in `[from, to)`: fields with `LABEL_TAG`, which the caller has checked. A text is the reason to
 * reject the series.
 */
export function parseSeries(reader: WireReader, from: number, to: number, rules: LabelRules): ParsedSeries | string {
  const labels = readLabels(reader, from, to, rules);
  return typeof labels === 'string' ? labels : seriesOfLabels(labels, rules);
}

/** Returns the labels in `[from, to)` as a JSON object; undefined if they are not allowed, or very long. */
export function wireLabelsJson(reader: WireReader, from: number, to: number, rules: LabelRules): string | undefined {
  if (to - from > JSON_BYTES_MAX) return undefined;
  const labels = readLabels(reader, from, to, rules);
  return typeof labels === 'string' ? undefined : jsonOfLabels(labels);
}

/** Returns the metric and the first labels in `[from, to)` for a message, however many and long they are. */
export function labelsStart(reader: WireReader, from: number, to: number): string {
  let metric = '';
  let others = '';
  for (let at = from; at < to && (metric === '' || others.length < START_CHARACTERS);) {
    const end = reader.lengthEnd(at + 1, to);
    const { name, value } = readLabel(reader, reader.at, end);
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

/**
 * Reads the labels in `[from, to)`: fields with `LABEL_TAG`, which the caller has checked. A text is the reason to reject
 * the series.
 */
export function readLabels(
  reader: WireReader,
  from: number,
  to: number,
  { isLossy }: Pick<LabelRules, 'isLossy'>,
): MetricLabel[] | string {
  const labels: MetricLabel[] = [];
  for (let at = from; at < to;) {
    if (labels.length === COLUMNS_MAX) return `more than ${COLUMNS_MAX} labels`;
    // The tag is one byte: the caller has checked that.
    const end = reader.lengthEnd(at + 1, to);
    const { name, value } = readLabel(reader, reader.at, end);
    if (!isLossy && !isUtf8(name)) return 'label name is not valid UTF-8';
    if (!isLossy && !isUtf8(value)) return `value of label "${name.toString()}" is not valid UTF-8`;
    labels.push({ name: name.toString(), value: isUtf8(value) ? value : Buffer.from(value.toString()) });
    at = end;
  }
  return labels;
}

function readLabel(reader: WireReader, from: number, end: number): { name: Buffer; value: Buffer } {
  let name: Buffer = NO_BYTES;
  let value: Buffer = NO_BYTES;
  for (let at = from; at < end;) {
    const tag = reader.varint(at, end);
    at = reader.skip(tag, reader.at, end);
    if ((tag & 7) !== BYTES) continue;
    if (tag >>> 3 === NAME_FIELD) name = reader.bytes.subarray(reader.at, at);
    else if (tag >>> 3 === VALUE_FIELD) value = reader.bytes.subarray(reader.at, at);
  }
  return { name, value };
}

import { BYTES, WireReader } from '#shared/protobuf/wire-reader';

import { JsonWriter } from '../../common/json-writer.js';
import { seriesOfLabels, type LabelRules, type MetricLabel } from '../../common/metric-labels.js';
import type { ByteSource, KnownSeries, ParseLabels } from '../../common/metric-series.js';
import { AnyValue, AttributePositions, AnyValueKind, writeValue } from '../any-value.js';
import { attributeText } from '../attribute-text.js';
import type { TelemetryOrigin } from '../origin.js';
import type { MetricTranslation } from './options.js';
import { labelOf } from './translation.js';

const METRIC_NAME = '__name__';
/** What Prometheus calls a target, made of the resource of its metrics. */
const JOB = 'job';
const INSTANCE = 'instance';

const NO_TEXT = Buffer.alloc(0);
const SEPARATOR = Buffer.from(';');
const SLASH = Buffer.from('/');

/** A label, or an attribute, with its value. */
type LabelText = readonly [name: string, text: Buffer];

/** Labels that all points of a resource and scope have. */
export class OriginLabels {
  /** Labels that the attributes of a point replace. */
  readonly replaceable: ReadonlyMap<string, Buffer>;
  /** Labels that replace the attributes of a point. */
  readonly fixed: ReadonlyMap<string, Buffer>;
  /** The metric that the last request began with. */
  first: MetricContext | undefined = undefined;

  /** @param reader of the request that resource and scope are part of. */
  constructor(reader: WireReader, resource: TelemetryOrigin, scope: TelemetryOrigin, translation: MetricTranslation) {
    const { strategy, isPromoted, promotesScope } = translation;
    const attributes = textsOf(reader, resource.attributes);
    const labels: LabelText[] = [];
    for (const [key, text] of attributes) if (isPromoted(key)) labels.push([labelOf(key, strategy), text]);
    if (promotesScope) {
      // Copies: these labels stay longer than the bytes of the request.
      labels.push(['otel_scope_name', Buffer.from(scope.name)], ['otel_scope_version', Buffer.from(scope.version)]);
      labels.push(['otel_scope_schema_url', Buffer.from(scope.schemaUrl)]);
      for (const [key, text] of textsOf(reader, scope.attributes)) {
        labels.push([`otel_scope_${labelOf(key, strategy)}`, text]);
      }
    }
    this.replaceable = joined(labels);
    this.fixed = targetLabels(new Map(attributes));
  }
}

/** What identifies a metric of one resource and scope. */
export interface SentMetric {
  /** Number of the field that holds its data. */
  readonly data: number;
  readonly isMonotonic: boolean;
  readonly name: Buffer;
  readonly unit: Buffer;
}

/** A metric of one resource and scope, with the series that its points had before. */
export class MetricContext {
  /** Part of the keys of its series; never used again for another metric. */
  readonly number: number;
  readonly origin: OriginLabels;
  readonly translation: MetricTranslation;
  readonly name: string;
  /** The metric as it was sent, by which it is recognised. */
  readonly sent: SentMetric;
  /** The metric that followed in the last request. */
  next: MetricContext | undefined = undefined;
  /** Series of the first point of the last request. */
  first: KnownSeries | undefined = undefined;
  isMetadataStored = false;

  constructor(number: number, sent: SentMetric, name: string, origin: OriginLabels, translation: MetricTranslation) {
    this.number = number;
    this.sent = sent;
    this.name = name;
    this.origin = origin;
    this.translation = translation;
  }

  /**
   * Returns the parser of keys of series: `prefixBytes`, which it ignores, and the attributes of a point as they were
   * sent. @param extra label that the kind of series adds, such as `le`.
   */
  parser(rules: LabelRules, prefixBytes: number, suffix: string, extra: LabelText | undefined): ParseLabels {
    const name = Buffer.from(this.name + suffix);
    return ({ bytes }: ByteSource, from, to) => {
      const key = new WireReader(bytes);
      const labels = new Map(this.origin.replaceable);
      const own = textsOf(key, attributesIn(key, from + prefixBytes, to));
      const named = own.map(([attribute, text]): LabelText => [labelOf(attribute, this.translation.strategy), text]);
      for (const [label, text] of joined(named)) labels.set(label, text);
      for (const [label, text] of this.origin.fixed) labels.set(label, text);
      if (extra !== undefined) labels.set(extra[0], extra[1]);
      labels.set(METRIC_NAME, name);
      const list = Array.from(labels, ([label, value]): MetricLabel => ({ name: label, value }));
      const parsed = seriesOfLabels(list, rules);
      // The request decides on database and table, not its attributes.
      return typeof parsed === 'string' ? parsed : { ...parsed, database: undefined, table: undefined };
    };
  }
}

function attributesIn(reader: WireReader, from: number, to: number): AttributePositions {
  const attributes = new AttributePositions();
  reader.eachField(from, to, (_field, type, start, end) => {
    if (type === BYTES) attributes.add(reader, start, end);
  });
  attributes.dropRepeated(reader);
  return attributes;
}

/** Returns keys and values as texts, sorted by key; without empty values, which are no labels. */
function textsOf(reader: WireReader, { at }: AttributePositions): LabelText[] {
  const texts: LabelText[] = [];
  const value = new AnyValue();
  for (let i = 0; i < at.length; i += 4) {
    const key = attributeText(reader, at[i], at[i + 1]);
    value.read(reader, at[i + 2], at[i + 3]);
    const text = labelText(reader, value);
    if (key !== '' && text.length > 0) texts.push([key, text]);
  }
  return texts.sort(([a], [b]) => (a < b ? -1 : 1));
}

function labelText(reader: WireReader, value: AnyValue): Buffer {
  if (value.kind === AnyValueKind.none) return NO_TEXT;
  if (value.kind === AnyValueKind.text) return Buffer.from(attributeText(reader, value.from, value.to));
  if (value.kind === AnyValueKind.bytes) return Buffer.from(reader.bytes.toString('base64', value.from, value.to));
  if (value.kind === AnyValueKind.double) return Buffer.from(doubleText(value.double));
  const out = new JsonWriter();
  writeValue(reader, value, out);
  return Buffer.from(out.bytes.subarray(0, out.length));
}

/** Returns a double as Prometheus writes it in labels. */
export function doubleText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** Attributes may have the same label: then it has all their values. */
function joined(labels: readonly LabelText[]): Map<string, Buffer> {
  const byLabel = new Map<string, Buffer>();
  for (const [label, text] of labels) {
    const before = byLabel.get(label);
    byLabel.set(label, before === undefined ? text : Buffer.concat([before, SEPARATOR, text]));
  }
  return byLabel;
}

function targetLabels(resource: ReadonlyMap<string, Buffer>): Map<string, Buffer> {
  const labels = new Map<string, Buffer>();
  const service = resource.get('service.name');
  const namespace = resource.get('service.namespace');
  const instance = resource.get('service.instance.id');
  if (service !== undefined) {
    labels.set(JOB, namespace === undefined ? service : Buffer.concat([namespace, SLASH, service]));
  }
  if (instance !== undefined) labels.set(INSTANCE, instance);
  return labels;
}

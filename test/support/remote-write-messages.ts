import protobuf from 'protobufjs';

/** Messages of remote write as their definitions have them, to hold the decoders against. */
const V1 = `
syntax = "proto3";
package prometheus;
message WriteRequest { repeated TimeSeries timeseries = 1; reserved 2; repeated MetricMetadata metadata = 3; }
message TimeSeries {
  repeated Label labels = 1; repeated Sample samples = 2; repeated Exemplar exemplars = 3; repeated Histogram histograms = 4;
}
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
message Exemplar { repeated Label labels = 1; double value = 2; int64 timestamp = 3; }
message MetricMetadata { uint32 type = 1; string metric_family_name = 2; string help = 4; string unit = 5; }
message Histogram {
  oneof count { uint64 count_int = 1; double count_float = 2; }
  double sum = 3; sint32 schema = 4; double zero_threshold = 5;
  oneof zero_count { uint64 zero_count_int = 6; double zero_count_float = 7; }
  repeated BucketSpan negative_spans = 8; repeated sint64 negative_deltas = 9; repeated double negative_counts = 10;
  repeated BucketSpan positive_spans = 11; repeated sint64 positive_deltas = 12; repeated double positive_counts = 13;
  uint32 reset_hint = 14; int64 timestamp = 15; repeated double custom_values = 16; int64 start_timestamp = 17;
}
message BucketSpan { sint32 offset = 1; uint32 length = 2; }
`;
const V2 = `
syntax = "proto3";
package v2;
message Request { repeated string symbols = 4; repeated TimeSeries timeseries = 5; }
message TimeSeries {
  repeated uint32 labels_refs = 1; repeated Sample samples = 2; repeated prometheus.Histogram histograms = 3;
  repeated Exemplar exemplars = 4; Metadata metadata = 5;
}
message Sample { double value = 1; int64 timestamp = 2; int64 start_timestamp = 3; }
message Exemplar { repeated uint32 labels_refs = 1; double value = 2; int64 timestamp = 3; }
message Metadata { uint32 type = 1; uint32 help_ref = 3; uint32 unit_ref = 4; }
`;

const root = new protobuf.Root();
protobuf.parse(V1, root, { keepCase: true });
protobuf.parse(V2, root, { keepCase: true });
const WRITE_REQUEST = root.lookupType('prometheus.WriteRequest');
const REQUEST = root.lookupType('v2.Request');

export interface Sample {
  readonly value: number;
  readonly timestamp: number;
  readonly start_timestamp?: number;
}

export interface Exemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestamp: number;
}

/** Members of the message, by its own names. */
export type HistogramMessage = Readonly<Record<string, unknown>>;

export interface Series {
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly samples?: readonly Sample[];
  readonly exemplars?: readonly Exemplar[];
  readonly histograms?: readonly HistogramMessage[];
  readonly metadata?: { readonly type: number; readonly help: string; readonly unit: string };
}

export interface MetadataMessage {
  readonly type: number;
  readonly metric_family_name: string;
  readonly help?: string;
  readonly unit?: string;
}

/** A body of version 1, not compressed. */
export function bodyV1(series: readonly Series[], metadata: readonly MetadataMessage[] = []): Buffer {
  const timeseries = series.map(({ labels, exemplars = [], samples = [], histograms = [] }) => ({
    labels: pairs(labels),
    samples,
    histograms,
    exemplars: exemplars.map((it) => ({ ...it, labels: pairs(Object.entries(it.labels)) })),
  }));
  return Buffer.from(WRITE_REQUEST.encode(WRITE_REQUEST.fromObject({ timeseries, metadata })).finish());
}

/** A body of version 2, not compressed. */
export function bodyV2(series: readonly Series[]): Buffer {
  const symbols = [''];
  const places = new Map([['', 0]]);
  const ref = (text: string): number => {
    let place = places.get(text);
    if (place === undefined) {
      place = symbols.push(text) - 1;
      places.set(text, place);
    }
    return place;
  };
  const refs = (labels: Series['labels']): number[] => labels.flatMap(([name, value]) => [ref(name), ref(value)]);
  const timeseries = series.map(({ labels, exemplars = [], samples = [], histograms = [], metadata }) => ({
    labels_refs: refs(labels),
    samples,
    histograms,
    exemplars: exemplars.map((it) => ({ ...it, labels_refs: refs(Object.entries(it.labels)) })),
    ...(metadata === undefined
      ? {}
      : { metadata: { type: metadata.type, help_ref: ref(metadata.help), unit_ref: ref(metadata.unit) } }),
  }));
  return Buffer.from(REQUEST.encode(REQUEST.fromObject({ symbols, timeseries })).finish());
}

/** What the definitions make of any bytes. @throws if they are malformed. */
export function decodeV1(bytes: Uint8Array): protobuf.Message {
  return WRITE_REQUEST.decode(bytes);
}

function pairs(labels: Series['labels']): { name: string; value: string }[] {
  return labels.map(([name, value]) => ({ name, value }));
}

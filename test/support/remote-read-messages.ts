import protobuf from 'protobufjs';
import { compressSync, uncompressSync } from 'snappy';

import { crc32c } from '#shared/bytes/crc32c';
import { invariant } from '#shared/errors/invariant';

import { decodeChunk, type ChunkSample } from './chunk-decoder.js';
import type { HttpApi } from './almanac.js';

/** Messages of remote read as their definitions have them. */
const DEFINITIONS = `
syntax = "proto3";
message ReadRequest { repeated Query queries = 1; repeated int32 accepted_response_types = 2; }
message Query { int64 start_timestamp_ms = 1; int64 end_timestamp_ms = 2; repeated LabelMatcher matchers = 3; ReadHints hints = 4; }
message LabelMatcher { int32 type = 1; string name = 2; string value = 3; }
message ReadHints {
  int64 step_ms = 1; string func = 2; int64 start_ms = 3; int64 end_ms = 4; repeated string grouping = 5; bool by = 6;
  int64 range_ms = 7;
}
message ReadResponse { repeated QueryResult results = 1; }
message QueryResult { repeated TimeSeries timeseries = 1; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; repeated Histogram histograms = 4; }
message Label { string name = 1; string value = 2; }
message Sample { fixed64 value = 1; int64 timestamp = 2; }
message Histogram {
  oneof count { uint64 count_int = 1; double count_float = 2; }
  double sum = 3; sint32 schema = 4; double zero_threshold = 5;
  oneof zero_count { uint64 zero_count_int = 6; double zero_count_float = 7; }
  repeated BucketSpan negative_spans = 8; repeated sint64 negative_deltas = 9; repeated double negative_counts = 10;
  repeated BucketSpan positive_spans = 11; repeated sint64 positive_deltas = 12; repeated double positive_counts = 13;
  int32 reset_hint = 14; int64 timestamp = 15; repeated double custom_values = 16;
}
message BucketSpan { sint32 offset = 1; uint32 length = 2; }
message ChunkedReadResponse { repeated ChunkedSeries chunked_series = 1; int64 query_index = 2; }
message ChunkedSeries { repeated Label labels = 1; repeated Chunk chunks = 2; }
message Chunk { int64 min_time_ms = 1; int64 max_time_ms = 2; int32 type = 3; bytes data = 4; }
`;
const root = new protobuf.Root();
protobuf.parse(DEFINITIONS, root, { keepCase: true });
const REQUEST = root.lookupType('ReadRequest');
const RESPONSE = root.lookupType('ReadResponse');
const CHUNKED = root.lookupType('ChunkedReadResponse');

export const SAMPLES = 0;
export const CHUNKS = 1;
const OPS = ['=', '!=', '=~', '!~'] as const;

export interface ReadQuery {
  readonly from: number;
  readonly to: number;
  /** As in PromQL, without quotes: `job=~a.*`. */
  readonly matchers: readonly string[];
}

/** A body, not compressed. */
export function readBody(queries: readonly ReadQuery[], accepted: readonly number[] = []): Buffer {
  const message = {
    queries: queries.map(({ from, to, matchers }) => ({
      ...{ start_timestamp_ms: from, end_timestamp_ms: to, matchers: matchers.map(matcher) },
      hints: { step_ms: 15_000, func: 'rate', start_ms: from, end_ms: to, grouping: ['job'], by: true, range_ms: 1 },
    })),
    accepted_response_types: accepted,
  };
  return Buffer.from(REQUEST.encode(REQUEST.fromObject(message)).finish());
}

function matcher(text: string): { type: number; name: string; value: string } {
  const [, name, op, value] = /^([^=!]*)(=~|!~|!=|=)(.*)$/s.exec(text) ?? [];
  return { type: OPS.indexOf(op as '='), name, value };
}

/** A series of an answer of either kind. */
export interface ReadSeries {
  readonly labels: string;
  readonly samples: readonly ChunkSample[];
  readonly histograms: readonly unknown[];
}

interface Label {
  readonly name: string;
  readonly value: string;
}

/** The series of each query of an answer that is whole. @param body compressed. */
export function wholeSeries(body: Uint8Array): ReadSeries[][] {
  const plain = uncompressSync(Buffer.from(body)) as Buffer;
  const message = RESPONSE.toObject(RESPONSE.decode(plain), { longs: Number, defaults: true }) as {
    results: { timeseries: { labels: Label[]; samples: { value: unknown; timestamp: number }[]; histograms: [] }[] }[];
  };
  const exact = RESPONSE.toObject(RESPONSE.decode(plain), { longs: String, defaults: true }) as {
    results: { timeseries: { samples: { value: string }[] }[] }[];
  };
  return message.results.map(({ timeseries }, query) =>
    timeseries.map(({ labels, samples, histograms }, i) => ({
      labels: labelText(labels),
      samples: samples.map(({ timestamp }, at) => {
        return { time: timestamp, bits: BigInt(exact.results[query].timeseries[i].samples[at].value) };
      }),
      histograms,
    })),
  );
}

export interface ChunkRead {
  readonly min: number;
  readonly max: number;
  readonly type: number;
  readonly reset: string;
  readonly data: Uint8Array;
  readonly count: number;
  readonly samples: readonly ChunkSample[];
}

export interface FrameRead {
  readonly query: number;
  readonly bytes: number;
  readonly labels: string;
  readonly chunks: readonly ChunkRead[];
}

/** The frames of a streamed answer, whose checksums must be right. */
export function framesOf(body: Uint8Array): FrameRead[] {
  const frames: FrameRead[] = [];
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length;) {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    const message = bytes.subarray(at + 4, at + 4 + length);
    invariant(message.length === length, 'frame is cut off');
    invariant(crc32c(message) === bytes.readUInt32BE(at), 'checksum is wrong');
    at += 4 + length;
    const { chunked_series: series, query_index: query } = CHUNKED.toObject(CHUNKED.decode(message), {
      ...{ longs: Number, arrays: true, defaults: true },
    }) as {
      query_index: number;
      chunked_series: { labels: Label[]; chunks: Record<'min_time_ms' | 'max_time_ms' | 'type', number>[] }[];
    };
    for (const { labels, chunks } of series) {
      const read = chunks.map((chunk): ChunkRead => {
        const { data } = chunk as unknown as { data: Uint8Array };
        const { min_time_ms: min, max_time_ms: max, type } = chunk;
        return {
          ...{ min, max, type, data, count: data[0] * 256 + data[1] },
          // Many are only counted.
          get reset() {
            return decodeChunk(type, data).reset;
          },
          get samples() {
            return decodeChunk(type, data).samples;
          },
        };
      });
      frames.push({ query, bytes: length, labels: labelText(labels), chunks: read });
    }
  }
  return frames;
}

function labelText(labels: readonly Label[]): string {
  return labels.map(({ name, value }) => `${name}=${value}`).join(',');
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Of an error. */
  readonly text: string;
}

/** Sends a remote read. @param path below the server's address. */
export async function remoteRead(
  { url }: Pick<HttpApi, 'url'>,
  body: Uint8Array,
  path = '/v1/prometheus/read',
): Promise<RawAnswer> {
  const response = await fetch(url + path, {
    method: 'POST',
    body: Uint8Array.from(compressSync(Buffer.from(body))),
    headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy', 'accept-encoding': 'gzip' },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body: bytes, text: Buffer.from(bytes).toString() };
}

import { WireWriter } from '#shared/protobuf/wire-writer';

import type {
  OtlpAttribute,
  OtlpEvent,
  OtlpLink,
  OtlpResourceSpans,
  OtlpScopeSpans,
  OtlpTrace,
  OtlpTraceSpan,
  OtlpValue,
} from './otlp-trace.js';

/** Tags of fields: the number and the wire type, 0 an integer, 1 eight bytes, 2 bytes. */
const tag = (field: number, type: 0 | 1 | 2): number => field * 8 + type;

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  (word) => `SPAN_KIND_${word}`,
);
const STATUS_CODES = ['UNSET', 'OK', 'ERROR'].map((word) => `STATUS_CODE_${word}`);

/** Returns the message `Trace` of Tempo: resource spans in field 1. */
export function traceMessage(trace: OtlpTrace): Buffer {
  const writer = new WireWriter();
  writeTrace(writer, trace);
  return writer.take();
}

/** Returns the message `TraceByIDResponse` of Tempo. @param partial why spans are missing; undefined if none is. */
export function traceByIdMessage(trace: OtlpTrace, partial: string | undefined): Buffer {
  const writer = new WireWriter();
  writer.message(tag(1, 2), () => {
    writeTrace(writer, trace);
  });
  if (partial !== undefined) {
    writer.byte(tag(3, 0));
    writer.varint(1);
    writer.text(tag(4, 2), partial);
  }
  return writer.take();
}

function writeTrace(writer: WireWriter, trace: OtlpTrace): void {
  for (const resource of trace.resources) {
    writer.message(tag(1, 2), () => {
      writeResource(writer, resource);
    });
  }
}

function writeResource(writer: WireWriter, { attributes, scopes }: OtlpResourceSpans): void {
  writer.message(tag(1, 2), () => {
    writeAttributes(writer, tag(1, 2), attributes);
  });
  for (const scope of scopes.values()) {
    writer.message(tag(2, 2), () => {
      writeScope(writer, scope);
    });
  }
}

function writeScope(writer: WireWriter, { name, version, attributes, spans }: OtlpScopeSpans): void {
  writer.message(tag(1, 2), () => {
    writer.text(tag(1, 2), name);
    writer.text(tag(2, 2), version);
    writeAttributes(writer, tag(3, 2), attributes);
  });
  for (const span of spans) {
    writer.message(tag(2, 2), () => {
      writeSpan(writer, span);
    });
  }
}

function writeSpan(writer: WireWriter, span: OtlpTraceSpan): void {
  writer.bytes(tag(1, 2), Buffer.from(span.traceId, 'hex'));
  writer.bytes(tag(2, 2), Buffer.from(span.spanId, 'hex'));
  if (span.traceState !== '') writer.text(tag(3, 2), span.traceState);
  if (span.parentSpanId !== '') writer.bytes(tag(4, 2), Buffer.from(span.parentSpanId, 'hex'));
  writer.text(tag(5, 2), span.name);
  writer.byte(tag(6, 0));
  writer.varint(Math.max(0, KINDS.indexOf(span.kind)));
  writeFixed64(writer, tag(7, 1), span.startNs);
  writeFixed64(writer, tag(8, 1), span.endNs);
  writeAttributes(writer, tag(9, 2), span.attributes);
  for (const event of span.events) {
    writer.message(tag(11, 2), () => {
      writeEvent(writer, event);
    });
  }
  for (const link of span.links) {
    writer.message(tag(13, 2), () => {
      writeLink(writer, link);
    });
  }
  writer.message(tag(15, 2), () => {
    if (span.statusMessage !== '') writer.text(tag(2, 2), span.statusMessage);
    writer.byte(tag(3, 0));
    writer.varint(Math.max(0, STATUS_CODES.indexOf(span.statusCode)));
  });
}

function writeEvent(writer: WireWriter, { timeNs, name, attributes }: OtlpEvent): void {
  writeFixed64(writer, tag(1, 1), timeNs);
  writer.text(tag(2, 2), name);
  writeAttributes(writer, tag(3, 2), attributes);
}

function writeLink(writer: WireWriter, { traceId, spanId, traceState, attributes }: OtlpLink): void {
  writer.bytes(tag(1, 2), Buffer.from(traceId, 'hex'));
  writer.bytes(tag(2, 2), Buffer.from(spanId, 'hex'));
  if (traceState !== '') writer.text(tag(3, 2), traceState);
  writeAttributes(writer, tag(4, 2), attributes);
}

function writeAttributes(writer: WireWriter, field: number, attributes: readonly OtlpAttribute[]): void {
  for (const { key, value } of attributes) {
    writer.message(field, () => {
      writer.text(tag(1, 2), key);
      writer.message(tag(2, 2), () => {
        writeValue(writer, value);
      });
    });
  }
}

function writeValue(writer: WireWriter, value: OtlpValue): void {
  if (typeof value === 'string') writer.text(tag(1, 2), value);
  else if (typeof value === 'boolean') {
    writer.byte(tag(2, 0));
    writer.byte(value ? 1 : 0);
  } else if (typeof value === 'bigint') {
    writer.byte(tag(3, 0));
    writer.bigVarint(value);
  } else if (typeof value === 'number') {
    writer.byte(tag(4, 1));
    writer.double(value);
  } else if (value instanceof Uint8Array) writer.bytes(tag(7, 2), value);
  else if ('members' in value) {
    writer.message(tag(6, 2), () => {
      writeAttributes(writer, tag(1, 2), value.members);
    });
  } else {
    writer.message(tag(5, 2), () => {
      for (const item of value) {
        writer.message(tag(1, 2), () => {
          writeValue(writer, item);
        });
      }
    });
  }
}

function writeFixed64(writer: WireWriter, field: number, value: bigint): void {
  writer.byte(field);
  writer.words(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
}

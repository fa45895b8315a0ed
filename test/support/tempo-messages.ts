import protobuf from 'protobufjs';

/** The messages of Tempo and of OTLP, as their definitions have them. */
const MESSAGES = protobuf.parse(
  `syntax = "proto3";
  message TraceByIDResponse { Trace trace = 1; PartialStatus status = 3; string message = 4; }
  enum PartialStatus { COMPLETE = 0; PARTIAL = 1; }
  message Trace { repeated ResourceSpans resourceSpans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
  message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
  message Span {
    bytes traceId = 1; bytes spanId = 2; string traceState = 3; bytes parentSpanId = 4; string name = 5; int32 kind = 6;
    fixed64 startTimeUnixNano = 7; fixed64 endTimeUnixNano = 8; repeated KeyValue attributes = 9; repeated Event events = 11;
    repeated Link links = 13; Status status = 15;
  }
  message Event { fixed64 timeUnixNano = 1; string name = 2; repeated KeyValue attributes = 3; }
  message Link { bytes traceId = 1; bytes spanId = 2; string traceState = 3; repeated KeyValue attributes = 4; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value {
    string stringValue = 1; bool boolValue = 2; int64 intValue = 3; double doubleValue = 4; ArrayValue arrayValue = 5;
    KeyValueList kvlistValue = 6; bytes bytesValue = 7;
  } }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }`,
).root;

/** Decodes a message; bytes are base64, and 64-bit integers are texts. */
export function decodeTempo(type: string, bytes: Uint8Array): Record<string, unknown> {
  const message = MESSAGES.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: String, bytes: String, oneofs: false });
}

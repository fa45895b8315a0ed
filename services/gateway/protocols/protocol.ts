import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Key } from '#shared/config/key';
import {
  sectionValues,
  type Config,
  type ConfigSection,
  type SectionKeys,
  type SectionValues,
} from '#shared/config/schema';
import type { AlmanacError } from '#shared/errors/almanac-error';
import type { Table } from '#shared/contracts/gen/common';
import type { BatchSet } from '#shared/rowbatch/builder';
import type { WriteOptions, WriteResult } from '#shared/write/writer-types';

import type { PipelineLibrary } from '../pipelines/library.js';
import type { MetricCounts } from '../pipelines/document/log-metrics.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import type { HttpReply } from '../reply.js';
import type { HttpMethod, RequestContext } from '../request-context.js';
import type { CacheMemory } from './common/cache-memory.js';
import type { RejectedRows } from './common/rejected-rows.js';

/** Encoding of a compressed request body. */
export type BodyEncoding = 'gzip' | 'deflate' | 'br' | 'snappy' | 'zstd';

/** Keys of a protocol's section: `enable` is required. */
export type ProtocolKeys = SectionKeys & { readonly enable: Key<boolean> };

/** An entry of the registry: everything that the rest of the program knows of a protocol. */
export interface Protocol<K extends ProtocolKeys = ProtocolKeys> {
  /** Value of the label `protocol` in metrics. */
  readonly name: string;
  /** Section of the configuration that turns the protocol on and sets it up. */
  readonly config: ConfigSection<K>;
  /** Histogram of the duration of its writes. */
  readonly elapsedMetric: { readonly name: string; readonly help: string };
  /** Loads the code of the protocol, which a process that does not enable it never does. */
  open(settings: SectionValues<K>, deps: ProtocolDeps): Promise<ProtocolRoutes>;
}

/** What protocols are made of besides their settings. */
export interface ProtocolDeps {
  readonly config: Config;
  /** Memory for what protocols remember of their clients. */
  readonly memory: CacheMemory;
  readonly clock: Clock;
  readonly pipelines: PipelineLibrary;
}

/** The routes of a protocol; each is served below each of the prefixes. */
export interface ProtocolRoutes {
  readonly prefixes: readonly string[];
  readonly routes: readonly ProtocolRoute[];
}

/** An open protocol. */
export interface OpenProtocol extends ProtocolRoutes {
  readonly name: string;
}

/** Defines a protocol, and infers the types of its settings from its keys. */
export function defineProtocol<const K extends ProtocolKeys>(protocol: Protocol<K>): Protocol {
  return protocol as unknown as Protocol;
}

/** Opens the protocols that the configuration enables. */
export function openProtocols(protocols: readonly Protocol[], deps: ProtocolDeps): Promise<OpenProtocol[]> {
  const enabled = protocols.filter(({ config }) => sectionValues<ProtocolKeys>(deps.config, config).enable);
  return Promise.all(
    enabled.map(async (protocol) => {
      const routes = await protocol.open(sectionValues(deps.config, protocol.config), deps);
      return { name: protocol.name, ...routes };
    }),
  );
}

/** A route of a protocol. */
export type ProtocolRoute = IngestRoute | PlainRoute;

/** A route that needs neither a body nor stored data. */
export interface PlainRoute {
  readonly kind: 'plain';
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly reply: (context: RequestContext, state: GatewayState) => HttpReply;
  readonly doc: RouteDoc;
}

/** State of the gateway that protocols report to their clients. */
export interface GatewayState {
  /** Why writes are not possible; undefined if they are. */
  readonly writeObstacle: string | undefined;
}

/** Content encodings of the bodies of a route. */
export interface AcceptedEncodings {
  readonly encodings: readonly BodyEncoding[];
  /** Encoding of bodies whose header names none; without it they are plain. */
  readonly impliedEncoding?: BodyEncoding;
  /** Encoding that some clients name although their bodies are plain. */
  readonly ignoredEncoding?: BodyEncoding;
}

/** Options of one request. */
export interface IngestOptions {
  readonly write: WriteOptions;
  /** Used instead of the encodings of the route, where they depend on the request. */
  readonly accepted?: AcceptedEncodings;
  /** Used instead of the replies of the route, where a reply depends on the request. */
  readonly replies?: IngestReplies;
  /** Whether the decoder of this request needs the existing tables, although those of the route do not. */
  readonly needsTables?: boolean;
}

/** Types of existing fields, by table and name. */
export type FieldTypes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The decoding of one request body to rows. */
export interface Decoding {
  readonly rejected: RejectedRows;
  /** Decodes about `budgetBytes` of the body. @returns whether the body is done. */
  decode(budgetBytes: number): boolean;
  /** Returns the options of the write, if the body decides them. Called once, when the body is done. */
  mainWrite?(): WriteOptions;
  /** Returns what the rows add to metrics, once they are written. */
  metricCounts?(): MetricCounts;
  /** Returns the rows that `WriteOptions` of the request do not hold for. Called once, when the body is done. */
  additionalWrites?(): readonly AdditionalWrite[];
  /** Undoes what decoding has changed outside of the request, because the request fails. */
  abandon?(): void;
}

/** Rows of a request for another database, or for tables of another kind. */
export interface AdditionalWrite {
  /** Name of the kind of rows, for the replies of the protocol. */
  readonly kind: string;
  /** Whether the request succeeds without them. */
  readonly isOptional: boolean;
  /** Whether any failure fails the request, also one that does not heal. */
  readonly failsRequest?: boolean;
  readonly batches: BatchSet;
  readonly write: WriteOptions;
}

/** The outcome of an additional write; a failure that may heal when it is sent again fails the request. */
export interface AdditionalOutcome extends Pick<AdditionalWrite, 'kind' | 'isOptional'> {
  readonly written: WriteResult | undefined;
  readonly failure: AlmanacError | undefined;
  /** Number of rows that were to be written. */
  readonly rowCount: number;
}

/** Input of a decoder. */
export interface DecodeInput {
  readonly bytes: Buffer;
  readonly nowNs: bigint;
  readonly batches: BatchSet;
  /** Set when a body is decoded again because values of a field had different types. */
  readonly fieldTypes: FieldTypes | undefined;
  /** The tables of the database, if the route has `needsTables`; otherwise empty. */
  readonly tables: readonly Table[];
}

/** Input of a decoder in a worker thread: the body as it was sent. */
export interface EncodedInput extends Omit<DecodeInput, 'fieldTypes' | 'tables'> {
  readonly encoding: BodyEncoding | undefined;
  /** Largest size of the decompressed body. */
  readonly plainBytesMax: number;
}

/** The outcome of a write request. */
export interface IngestOutcome {
  readonly rejected: RejectedRows;
  readonly written: WriteResult;
  readonly additional: readonly AdditionalOutcome[];
}

/** How a protocol replies to write requests. */
export interface IngestReplies {
  success(outcome: IngestOutcome, context: RequestContext): HttpReply;
  /** Replies to a body of which no row was written, because some were malformed. */
  rejected(rejected: RejectedRows, context: RequestContext): HttpReply;
  failure(error: AlmanacError, context: RequestContext): HttpReply;
}

/** Members of a route that takes rows, with the request options of the protocol. */
export interface IngestParts<O extends IngestOptions> extends AcceptedEncodings {
  readonly path: string;
  /** Whether the decoder needs the existing tables, because their columns decide how values are stored. */
  readonly needsTables?: boolean;
  /** Whether well-formed rows are written when others are malformed. */
  readonly partialSuccess: boolean;
  /** Reads the options of a request. @throws `AlmanacError` for parameters that are not allowed. */
  readonly options: (context: RequestContext, call: Call) => O | Promise<O>;
  /** Replies to requests that only probe what the route supports; undefined for all others. */
  readonly probe?: (context: RequestContext) => HttpReply | undefined;
  /** Converts a decompressed body to the bytes that `decode` gets. */
  readonly convert?: (bytes: Buffer, options: O) => Buffer | Promise<Buffer>;
  readonly decode: (input: DecodeInput, options: O) => Decoding;
  /** Decodes a body in a worker thread if that is worthwhile; undefined if it is to be decoded here. */
  readonly decodeInWorker?: (input: EncodedInput, options: O) => Promise<Decoding | undefined> | undefined;
  readonly replies: IngestReplies;
  readonly doc: RouteDoc;
}

/** A route that takes rows, without the type of its options. */
export interface IngestRoute extends Omit<IngestParts<never>, 'options' | 'convert' | 'decode' | 'decodeInWorker'> {
  readonly kind: 'ingest';
  /** Reads the options of one request. @throws `AlmanacError` for parameters that are not allowed. */
  readonly prepare: (context: RequestContext, call: Call) => PreparedIngest | Promise<PreparedIngest>;
}

/** A write request whose options are read. */
export interface PreparedIngest {
  readonly write: WriteOptions;
  readonly accepted: AcceptedEncodings;
  readonly needsTables: boolean;
  readonly convert: (bytes: Buffer) => Buffer | Promise<Buffer>;
  readonly decode: (input: DecodeInput) => Decoding;
  readonly decodeInWorker: (input: EncodedInput) => Promise<Decoding | undefined> | undefined;
  readonly replies: IngestReplies;
}

/** Defines a route that takes rows. */
export function ingestRoute<O extends IngestOptions>({
  options,
  convert,
  decode,
  decodeInWorker,
  ...route
}: IngestParts<O>): IngestRoute {
  return {
    ...route,
    kind: 'ingest',
    prepare(context, call) {
      const prepared = options(context, call);
      return prepared instanceof Promise ? prepared.then(prepare) : prepare(prepared);
    },
  };

  function prepare(prepared: O): PreparedIngest {
    return {
      write: prepared.write,
      accepted: prepared.accepted ?? route,
      needsTables: prepared.needsTables ?? route.needsTables ?? false,
      convert: (bytes) => (convert === undefined ? bytes : convert(bytes, prepared)),
      decode: (input) => decode(input, prepared),
      decodeInWorker: (input) => decodeInWorker?.(input, prepared),
      replies: prepared.replies ?? route.replies,
    };
  }
}

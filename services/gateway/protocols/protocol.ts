import type { BatchSet } from '#shared/rowbatch/builder';
import type { WriteOptions, WriteResult } from '#shared/write/writer-types';
import type { AlmanacError } from '#shared/errors/almanac-error';

import type { Answer } from '../answer.js';
import type { RequestContext } from '../request-context.js';

/** What a request body may be packed in, besides nothing. */
export type BodyEncoding = 'gzip' | 'deflate' | 'br' | 'snappy' | 'zstd';

/** A protocol: its routes under each of its prefixes. */
export interface Protocol {
  readonly name: string;
  readonly prefixes: readonly string[];
  readonly routes: readonly ProtocolRoute[];
}

export type ProtocolRoute = IngestRoute | PlainRoute;

/** A route that answers without a body or the data. */
export interface PlainRoute {
  readonly kind: 'plain';
  readonly method: 'GET';
  readonly path: string;
  readonly answer: (context: RequestContext, state: GatewayState) => Answer;
}

export interface GatewayState {
  /** Why writes are not possible; undefined if they are. */
  readonly writeObstacle: string | undefined;
}

export interface IngestOptions {
  /** Where the rows go, and how tables come to be. */
  readonly write: WriteOptions;
  /** Instead of the route's own, for answers that tell more of the request. */
  readonly reply?: IngestReply;
}

/** Rows that one column's type kept out. */
export interface DecodeConflict {
  readonly table: string;
  readonly field: string;
  readonly given: string;
  readonly existing: string;
  readonly rowCount: number;
}

/** Types of existing fields, by table and name. */
export type FieldTypes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** What a protocol did not take from a body. */
export interface Rejected {
  /** Lines or items that are malformed; `texts` may hold fewer. */
  readonly lineCount: number;
  readonly texts: readonly string[];
  readonly conflicts: readonly DecodeConflict[];
}

/** A body on its way to rows. */
export interface Decoding {
  readonly rejections: Rejected;
  /** Decodes about that many bytes. @returns whether the body is done. */
  decode(budgetBytes: number): boolean;
  /** Rows that go elsewhere than `WriteOptions` of the request say; asked for once, when the body is done. */
  further?(): readonly FurtherWrite[];
}

/** Rows of a request for another database, or for tables of another kind. */
export interface FurtherWrite {
  /** `metadata` is written if that is possible; the request does not fail without. */
  readonly kind: 'rows' | 'exemplars' | 'metadata';
  readonly batches: BatchSet;
  readonly write: WriteOptions;
}

/** How a further write ended; a failure that sending again may heal fails the request. */
export interface FurtherOutcome {
  readonly kind: FurtherWrite['kind'];
  readonly written: WriteResult | undefined;
  readonly failure: AlmanacError | undefined;
  /** Rows that were to be written. */
  readonly rowCount: number;
}

export interface DecodeInput {
  readonly bytes: Buffer;
  readonly nowNs: bigint;
  readonly batches: BatchSet;
  /** Given when the same body is decoded again because its own first values disagreed. */
  readonly fieldTypes: FieldTypes | undefined;
}

/** A body as it came, to be decoded in another thread. */
export interface PackedInput extends Omit<DecodeInput, 'bytes' | 'fieldTypes'> {
  readonly packed: Buffer;
  readonly encoding: BodyEncoding | undefined;
  /** The most that it can become. */
  readonly plainBytesMax: number;
}

export interface IngestOutcome {
  readonly rejected: Rejected;
  readonly written: WriteResult;
  readonly further: readonly FurtherOutcome[];
}

/** A route that takes rows. Protocols differ only in these members. */
export interface IngestParts<O extends IngestOptions> {
  readonly path: string;
  readonly encodings: readonly BodyEncoding[];
  /** The encoding of bodies whose header names none; without it they are plain. */
  readonly impliedEncoding?: BodyEncoding;
  /** Whether good lines are written when others are malformed. */
  readonly partialSuccess: boolean;
  /** @throws `AlmanacError` for parameters that cannot be. */
  readonly options: (context: RequestContext) => O;
  /** The answer to requests that only ask what the route can; undefined for all others. */
  readonly answer?: (context: RequestContext) => Answer | undefined;
  readonly decode: (input: DecodeInput, options: O) => Decoding;
  /** Has a body decoded in another thread, if that is worth it; undefined: it is to be decoded here. */
  readonly decodeAside?: (input: PackedInput, options: O) => Promise<Decoding | undefined> | undefined;
  readonly reply: IngestReply;
}

/** A route whose options are its own affair. */
export interface IngestRoute extends Omit<IngestParts<never>, 'options' | 'decode' | 'decodeAside'> {
  readonly kind: 'ingest';
  /** Reads the options of one request. @throws `AlmanacError` for parameters that cannot be. */
  readonly prepare: (context: RequestContext) => PreparedIngest;
}

export interface PreparedIngest {
  readonly write: WriteOptions;
  readonly decode: (input: DecodeInput) => Decoding;
  readonly decodeAside: (input: PackedInput) => Promise<Decoding | undefined> | undefined;
  readonly reply: IngestReply | undefined;
}

export function ingest<O extends IngestOptions>({
  options,
  decode,
  decodeAside,
  ...parts
}: IngestParts<O>): IngestRoute {
  return {
    ...parts,
    kind: 'ingest',
    prepare(context) {
      const prepared = options(context);
      return {
        write: prepared.write,
        decode: (input) => decode(input, prepared),
        decodeAside: (input) => decodeAside?.(input, prepared),
        reply: prepared.reply,
      };
    },
  };
}

export interface IngestReply {
  success(outcome: IngestOutcome): Answer;
  /** No row was written, because some were malformed. */
  rejected(rejected: Rejected): Answer;
  failure(error: AlmanacError): Answer;
}

import type { Clock } from '#shared/clock/clock';
import { unlessAborted, type Call } from '#shared/contracts/call';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import type { BuilderPool } from '#shared/rowbatch/builder-pool';
import { fieldsOf } from '#shared/schema/table-schema';
import type { RowWriter } from '#shared/write/writer-types';

import { send } from '../answer.js';
import type { GatewayMetrics } from '../metrics.js';
import type {
  DecodeInput,
  Decoding,
  FieldTypes,
  FurtherOutcome,
  FurtherWrite,
  IngestRoute,
  PreparedIngest,
} from '../protocols/protocol.js';
import type { Handler, RequestContext } from '../request-context.js';
import type { BodyReader, PackedBody } from './body.js';

/** Decoding that many bytes takes 0.05 ms, and up to 20 ms while the code is not compiled yet. */
const SLICE_BYTES = 32 * 1024;
/** Other requests get their turn after so long. */
const TURN_MS = 8;

export interface IngestDeps {
  readonly bodies: BodyReader;
  readonly catalog: Catalog;
  readonly writer: RowWriter;
  readonly pool: BuilderPool;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  readonly timeoutMs: number;
  /** Waits a little for a server that starts. @throws if data cannot be had yet. */
  readonly checkReady: (call: Call) => Promise<void>;
  /** Logs what is not the client's fault. */
  readonly onFailure: (context: RequestContext, error: AlmanacError) => void;
}

/**
 * The path of every ingest request: options, body, decode, write, reply.
 *
 * The whole body is decoded before the first row is written, so a refused body leaves nothing behind. Protocols differ
 * only in the members of their route.
 */
export function ingestHandler(protocol: string, route: IngestRoute, deps: IngestDeps): Handler {
  return async (context) => {
    try {
      await handle(context, route, deps);
      deps.metrics.ingested(protocol, context);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      deps.metrics.failed(protocol);
      deps.onFailure(context, error);
      send(context, route.reply.failure(error));
      // A body that nobody reads would hold the connection.
      context.request.resume();
    }
  };
}

async function handle(context: RequestContext, route: IngestRoute, deps: IngestDeps): Promise<void> {
  const known = route.answer?.(context);
  if (known !== undefined) {
    send(context, known);
    context.request.resume();
    return;
  }
  const call = context.call(timeoutMs(context, deps));
  await deps.checkReady(call);
  const prepared = route.prepare(context);
  const { database } = prepared.write;
  await deps.catalog.database(database, call);
  context.database = database;
  const packed = await deps.bodies.receive(context.request, route, call);
  const { batches, decoding, release } = await decodePacked(packed, prepared, deps, call);
  try {
    const { rejections } = decoding;
    const reply = prepared.reply ?? route.reply;
    if (rejections.lineCount > 0 && !route.partialSuccess) return send(context, reply.rejected(rejections));
    const write = { ...prepared.write, idempotencyKey: idempotencyKey(context) };
    const written = await deps.writer.write(batches, write, call);
    batches.release();
    const further = await writeFurther(decoding.further?.() ?? [], write.idempotencyKey, deps, call);
    send(context, reply.success({ rejected: rejections, written, further }));
  } finally {
    release();
  }
}

/** The client's wish, as far as it is allowed. @throws `invalid_arguments` if it is no duration. */
function timeoutMs(context: RequestContext, deps: IngestDeps): number {
  const askedMs = context.askedTimeoutMs() ?? 0;
  if (askedMs === 0) return deps.timeoutMs;
  return deps.timeoutMs === 0 ? askedMs : Math.min(askedMs, deps.timeoutMs);
}

/** @throws the first failure that sending the request again may heal. */
async function writeFurther(
  writes: readonly FurtherWrite[],
  idempotencyKey: string | undefined,
  { catalog, writer }: IngestDeps,
  call: Call,
): Promise<FurtherOutcome[]> {
  const outcomes = await Promise.all(
    writes.map(async ({ kind, batches, write }): Promise<FurtherOutcome> => {
      const { rowCount } = batches;
      try {
        await catalog.database(write.database, call);
        const written = await writer.write(batches, { ...write, idempotencyKey }, call);
        return { kind, rowCount, written, failure: undefined };
      } catch (thrown) {
        return { kind, rowCount, written: undefined, failure: AlmanacError.from(thrown) };
      }
    }),
  );
  const again = outcomes.find(({ kind, failure }) => kind !== 'metadata' && failure !== undefined && mayHeal(failure));
  if (again?.failure !== undefined) throw again.failure;
  return outcomes;
}

function mayHeal({ retry, httpStatus }: AlmanacError): boolean {
  return retry || httpStatus >= 500;
}

const KEY_LENGTH_MAX = 255;

/** The client's name for the request. @throws `invalid_arguments` if it is empty or too long. */
function idempotencyKey({ request }: RequestContext): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  const text = String(key);
  if (text !== '' && text.length <= KEY_LENGTH_MAX) return text;
  throw new AlmanacError('invalid_arguments', `Idempotency-Key must have 1 to ${KEY_LENGTH_MAX} characters`);
}

interface Decoded {
  readonly batches: BatchSet;
  readonly decoding: Decoding;
}

/** @returns with `release`, which gives the memory of the body back. */
async function decodePacked(
  packed: PackedBody,
  prepared: PreparedIngest,
  deps: IngestDeps,
  call: Call,
): Promise<Decoded & { readonly release: () => void }> {
  const aside = await decodeAside(packed, prepared, deps, call);
  if (aside !== undefined) return { ...aside, release: () => packed.release() };
  const body = await packed.unpack();
  try {
    return { ...(await decodeBody(body.bytes, prepared, deps, call)), release: () => body.release() };
  } catch (error) {
    body.release();
    throw error;
  }
}

/** Lets another thread decode the body, where the protocol has one and it can. */
async function decodeAside(
  packed: PackedBody,
  prepared: PreparedIngest,
  { pool, clock }: IngestDeps,
  call: Call,
): Promise<Decoded | undefined> {
  const { bytes, encoding, plainBytesMax } = packed;
  const batches = new BatchSet(pool);
  const input = { packed: bytes, encoding, plainBytesMax, nowNs: clock.nowNs(), batches };
  const giveBack = packed.charge();
  try {
    const asked = giveBack === undefined ? undefined : prepared.decodeAside(input);
    const decoding = asked === undefined ? undefined : await unlessAborted(call, asked);
    if (decoding === undefined) return undefined;
    await decodeInSlices(decoding, clock, call);
    return { batches, decoding };
  } catch (error) {
    packed.release();
    throw error;
  } finally {
    giveBack?.();
  }
}

async function decodeBody(bytes: Buffer, prepared: PreparedIngest, deps: IngestDeps, call: Call): Promise<Decoded> {
  const nowNs = deps.clock.nowNs();
  const first = await decodeAll({ bytes, nowNs, fieldTypes: undefined }, prepared, deps, call);
  const { conflicts } = first.decoding.rejections;
  if (conflicts.length === 0) return first;
  // Values of a field disagree: the table decides which type it has, and only for a new field the first value.
  const tables = new Set(conflicts.map(({ table }) => table));
  const fieldTypes = await existingTypes(tables, prepared.write.database, deps.catalog, call);
  if (fieldTypes.size === 0) return first;
  first.batches.release();
  return decodeAll({ bytes, nowNs, fieldTypes }, prepared, deps, call);
}

async function decodeAll(
  input: Omit<DecodeInput, 'batches'>,
  prepared: PreparedIngest,
  { pool, clock }: IngestDeps,
  call: Call,
): Promise<Decoded> {
  const batches = new BatchSet(pool);
  const decoding = prepared.decode({ ...input, batches });
  await decodeInSlices(decoding, clock, call);
  return { batches, decoding };
}

async function decodeInSlices(decoding: Decoding, clock: Clock, { signal }: Call): Promise<void> {
  let turnMs = clock.monotonicMs();
  while (!decoding.decode(SLICE_BYTES)) {
    if (clock.monotonicMs() - turnMs < TURN_MS) continue;
    await clock.yield();
    signal.throwIfAborted();
    turnMs = clock.monotonicMs();
  }
}

async function existingTypes(
  tables: ReadonlySet<string>,
  database: string,
  catalog: Catalog,
  call: Call,
): Promise<FieldTypes> {
  const types = new Map<string, ReadonlyMap<string, string>>();
  for (const table of await catalog.tables(database, call)) {
    if (!tables.has(table.name)) continue;
    types.set(table.name, new Map(fieldsOf(table).map(({ name, type }) => [name, type])));
  }
  return types;
}

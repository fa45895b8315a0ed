import type { Clock } from '#shared/clock/clock';
import { unlessAborted, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { requireAccess } from '#shared/contracts/rights';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import type { BuilderPool } from '#shared/rowbatch/builder-pool';
import { fieldsOf } from '#shared/schema/table-schema';
import type { RowWriter } from '#shared/write/writer-types';

import type { GatewayMetrics } from '../metrics.js';
import type { PipelineCounters } from '../protocols/common/pipeline/counters.js';
import type {
  AdditionalOutcome,
  AdditionalWrite,
  DecodeInput,
  Decoding,
  FieldTypes,
  IngestRoute,
  PreparedIngest,
} from '../protocols/protocol.js';
import type { ReadyGate } from '../ready-gate.js';
import { send } from '../reply.js';
import type { Handler, RequestContext } from '../request-context.js';
import type { RequestLog } from '../request-log.js';
import type { BodyReader, EncodedBody } from './body.js';

/** Decoding that many bytes takes 0.05 ms, and up to 20 ms while the code is not compiled yet. */
const SLICE_BYTES = 32 * 1024;
/** Time after which decoding yields to other requests. A small query waits for one or two slices. */
const YIELD_MS = 1;

/** Dependencies of the routes that take rows. */
export interface IngestDeps {
  readonly bodies: BodyReader;
  readonly catalog: Catalog;
  readonly writer: RowWriter;
  readonly pool: BuilderPool;
  /** Counts metrics of pipelines. */
  readonly counters: PipelineCounters;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  readonly log: RequestLog;
  readonly gate: ReadyGate;
  /** Longest time for a request; 0 for no limit. */
  readonly timeoutMs: number;
}

/**
 * Handles every write request: options, body, decode, write, reply.
 *
 * The whole body is decoded before the first row is written, so no row of a rejected body is stored. Protocols differ
 * only in the members of their route.
 */
export function ingestHandler(protocol: string, route: IngestRoute, deps: IngestDeps): Handler {
  const handleAndReply = async (context: RequestContext): Promise<void> => {
    try {
      requireAccess(context, 'write');
      await handle(context, route, deps);
      deps.metrics.ingested(protocol, context);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      deps.metrics.failed(protocol);
      deps.log.failure(context, error);
      send(context, route.replies.failure(error, context));
      // A body that is not read would block the connection.
      context.request.resume();
    }
  };
  return Object.assign(handleAndReply, {
    failure: (context: RequestContext, error: AlmanacError) => {
      deps.metrics.failed(protocol);
      return route.replies.failure(error, context);
    },
  });
}

async function handle(context: RequestContext, route: IngestRoute, deps: IngestDeps): Promise<void> {
  const probed = route.probe?.(context);
  if (probed !== undefined) {
    send(context, probed);
    context.request.resume();
    return;
  }
  const call = context.call(timeoutMs(context, deps));
  await deps.gate.check(call);
  const preparing = route.prepare(context, call);
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  const { database } = prepared.write;
  await deps.catalog.database(database, call);
  context.database = database;
  const tables = prepared.needsTables ? await deps.catalog.tables(database, call) : [];
  const body = await deps.bodies.receive(context.request, prepared.accepted, call);
  const { batches, decoding, release } = await decodeBody(body, tables, prepared, deps, call);
  try {
    const { replies } = prepared;
    const { rejected } = decoding;
    if (rejected.malformedCount > 0 && !route.partialSuccess) return send(context, replies.rejected(rejected, context));
    const main = decoding.mainWrite?.() ?? prepared.write;
    const write = { ...main, idempotencyKey: idempotencyKey(context) };
    const written = await deps.writer.write(batches, write, call);
    batches.release();
    const additional = await writeAdditional(decoding.additionalWrites?.() ?? [], write.idempotencyKey, deps, call);
    const counts = decoding.metricCounts?.();
    if (counts !== undefined) await deps.counters.add(counts, write.database, write.idempotencyKey, call);
    send(context, replies.success({ rejected, written, additional }, context));
  } catch (error) {
    decoding.abandon?.();
    throw error;
  } finally {
    release();
  }
}

/** Returns the timeout that the client requests, within the limit. @throws `invalid_arguments` if it is no duration. */
function timeoutMs(context: RequestContext, deps: IngestDeps): number {
  const requestedMs = context.requestedTimeoutMs() ?? 0;
  if (requestedMs === 0) return deps.timeoutMs;
  return deps.timeoutMs === 0 ? requestedMs : Math.min(requestedMs, deps.timeoutMs);
}

/** @throws the first failure that may heal when the request is sent again. */
async function writeAdditional(
  writes: readonly AdditionalWrite[],
  idempotencyKey: string | undefined,
  { catalog, writer }: IngestDeps,
  call: Call,
): Promise<AdditionalOutcome[]> {
  const outcomes = await Promise.all(
    writes.map(async ({ kind, isOptional, batches, write }, i): Promise<AdditionalOutcome> => {
      const { rowCount } = batches;
      // Rows of one table with other options are another batch.
      const key = idempotencyKey === undefined ? undefined : `${idempotencyKey} ${i + 1}`;
      try {
        await catalog.database(write.database, call);
        const written = await writer.write(batches, { ...write, idempotencyKey: key }, call);
        return { kind, isOptional, rowCount, written, failure: undefined };
      } catch (thrown) {
        return { kind, isOptional, rowCount, written: undefined, failure: AlmanacError.from(thrown) };
      }
    }),
  );
  for (const [i, { isOptional, failure }] of outcomes.entries()) {
    if (!isOptional && failure !== undefined && (writes[i].failsRequest === true || mayHeal(failure))) throw failure;
  }
  return outcomes;
}

function mayHeal({ retry, httpStatus }: AlmanacError): boolean {
  return retry || httpStatus >= 500;
}

const KEY_LENGTH_MAX = 255;

/** Returns the client's name for the request. @throws `invalid_arguments` if it is empty or too long. */
function idempotencyKey({ request }: RequestContext): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  const text = String(key);
  if (text !== '' && text.length <= KEY_LENGTH_MAX) return text;
  throw new AlmanacError('invalid_arguments', `Idempotency-Key must have 1 to ${KEY_LENGTH_MAX} characters`);
}

interface DecodedBody {
  readonly batches: BatchSet;
  readonly decoding: Decoding;
}

/** @returns the rows, and `release` for the memory of the body. */
async function decodeBody(
  body: EncodedBody,
  tables: readonly Table[],
  prepared: PreparedIngest,
  deps: IngestDeps,
  call: Call,
): Promise<DecodedBody & { readonly release: () => void }> {
  const matched = await decodeInWorker(body, prepared, deps, call);
  if (matched !== undefined) {
    const { batches, decoding } = matched;
    return { batches, decoding, release: () => body.release() };
  }
  const plain = await body.decompress();
  try {
    const converted = prepared.convert(plain.bytes);
    const bytes = Buffer.isBuffer(converted) ? converted : await unlessAborted(call, converted);
    const { batches, decoding } = await decodeHere({ bytes, tables }, prepared, deps, call);
    return { batches, decoding, release: () => plain.release() };
  } catch (error) {
    plain.release();
    throw error;
  }
}

/** Decodes the body in a worker thread, if the protocol has one and it can. */
async function decodeInWorker(
  body: EncodedBody,
  prepared: PreparedIngest,
  { pool, clock }: IngestDeps,
  call: Call,
): Promise<DecodedBody | undefined> {
  const { bytes, encoding, plainBytesMax } = body;
  const batches = new BatchSet(pool);
  const releasePlain = body.reservePlain();
  try {
    const started =
      releasePlain === undefined
        ? undefined
        : prepared.decodeInWorker({ bytes, encoding, plainBytesMax, nowNs: clock.nowNs(), batches });
    const decoding = started === undefined ? undefined : await unlessAborted(call, started);
    if (decoding === undefined) return undefined;
    await decodeInSlices(decoding, clock, call);
    return { batches, decoding };
  } catch (error) {
    body.release();
    throw error;
  } finally {
    releasePlain?.();
  }
}

async function decodeHere(
  { bytes, tables }: Pick<DecodeInput, 'bytes' | 'tables'>,
  prepared: PreparedIngest,
  deps: IngestDeps,
  call: Call,
): Promise<DecodedBody> {
  const nowNs = deps.clock.nowNs();
  const first = await decodeAll({ bytes, tables, nowNs, fieldTypes: undefined }, prepared, deps, call);
  const { conflicts } = first.decoding.rejected;
  if (conflicts.length === 0) return first;
  // Values of a field have different types: the table decides which is right, the first value only for a new field.
  const conflicting = new Set(conflicts.map(({ table }) => table));
  const fieldTypes = await existingTypes(conflicting, prepared.write.database, deps.catalog, call);
  if (fieldTypes.size === 0) return first;
  first.batches.release();
  first.decoding.abandon?.();
  return decodeAll({ bytes, tables, nowNs, fieldTypes }, prepared, deps, call);
}

async function decodeAll(
  { bytes, tables, nowNs, fieldTypes }: Omit<DecodeInput, 'batches'>,
  prepared: PreparedIngest,
  { pool, clock }: IngestDeps,
  call: Call,
): Promise<DecodedBody> {
  const batches = new BatchSet(pool);
  const decoding = prepared.decode({ bytes, tables, nowNs, fieldTypes, batches });
  try {
    await decodeInSlices(decoding, clock, call);
  } catch (error) {
    decoding.abandon?.();
    throw error;
  }
  return { batches, decoding };
}

async function decodeInSlices(decoding: Decoding, clock: Clock, { signal }: Call): Promise<void> {
  // Small bodies end here. Others that arrive together are decoded in turns from the second slice on.
  let sliceEndMs = -Infinity;
  while (!decoding.decode(SLICE_BYTES)) {
    if (clock.monotonicMs() < sliceEndMs) continue;
    await clock.yield();
    signal.throwIfAborted();
    sliceEndMs = clock.monotonicMs() + YIELD_MS;
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

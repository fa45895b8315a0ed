import { hasBytes } from '#shared/bytes/equal';
import { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId } from '#shared/rowbatch/series-key';
import type { WriteOptions } from '#shared/write/writer-types';

import type { AdditionalWrite } from '../../protocol.js';

/** 2100-01-01: the same for all rows, so that a service is one row however often it is sent. */
const TIME_NS = 4_102_444_800_000_000_000n;
/** Operations of one request; further ones come with later requests. */
const OPERATIONS_MAX = 10_000;
/** Names longer than this are not listed. */
const NAME_BYTES_MAX = 16 * 1024;
/** Operations that are recognised by their bytes; a power of two. */
const RECENT = 256;

/** An operation that was added. */
interface RecentOperation {
  readonly service: string;
  readonly kind: string;
  readonly name: Buffer;
}

/** Services and operations of the spans of one request, for the lists that user interfaces show. */
export class ServiceRows {
  readonly #services = new Set<string>();
  /** Service, span name and kind, by a text of all three. */
  readonly #operations = new Map<string, readonly [service: string, name: string, kind: string]>();
  /** The last operation of each slot, so that most spans need no text of their name. */
  readonly #recent: (RecentOperation | undefined)[] = new Array<RecentOperation | undefined>(RECENT);

  /** Adds the operation whose name is `[from, to)`; `bytes` must stay as they are. */
  add(service: string, bytes: Buffer, from: number, to: number, kind: string): void {
    const slot = slotOf(bytes, from, to);
    const recent = this.#recent[slot];
    if (recent?.service === service && recent.kind === kind && hasBytes(bytes, from, to, recent.name)) return;
    this.#recent[slot] = { service, kind, name: bytes.subarray(from, to) };
    const isTooMany = this.#operations.size >= OPERATIONS_MAX;
    if (service === '' || isTooMany || service.length + to - from > NAME_BYTES_MAX) return;
    this.#services.add(service);
    const name = bytes.toString('utf8', from, to);
    const key = `${kind}\n${service.length}\n${service}${name}`;
    if (!this.#operations.has(key)) this.#operations.set(key, [service, name, kind]);
  }

  /** Returns the rows for the tables `TABLE_services` and `TABLE_operations`. */
  additionalWrites(table: string, write: WriteOptions): readonly AdditionalWrite[] {
    if (this.#services.size === 0) return [];
    const services = [...this.#services].map((service) => [['service_name', service]] as const);
    const operations = [...this.#operations.values()].map(
      ([service, name, kind]) =>
        [
          ['service_name', service],
          ['span_name', name],
          ['span_kind', kind],
        ] as const,
    );
    const own = { ...write, columns: [], tableOptions: { merge_mode: 'last_row' } };
    return [
      { kind: 'services', isOptional: true, batches: rowsOf(`${table}_services`, services), write: own },
      { kind: 'operations', isOptional: true, batches: rowsOf(`${table}_operations`, operations), write: own },
    ];
  }
}

function slotOf(bytes: Buffer, from: number, to: number): number {
  let hash = to - from;
  for (let i = Math.max(from, to - 8); i < to; i++) hash = (Math.imul(hash, 31) + bytes[i]) | 0;
  return hash & (RECENT - 1);
}

function rowsOf(table: string, rows: readonly (readonly (readonly [name: string, value: string])[])[]): BatchSet {
  const batches = new BatchSet();
  const builder = batches.table(table);
  for (const row of rows) {
    const tags = row.filter(([, value]) => value !== '').map(([name, value]) => ({ name, value: Buffer.from(value) }));
    builder.startRow(new SeriesEntry(table, seriesId(tags), tags));
    builder.endRowAt(TIME_NS);
  }
  return batches;
}

import type { ScanPart } from '#shared/contracts/gen/ingester';

/**
 * Approximate bytes of one response chunk: 4 ms of work for the caller if cells are numbers, and far below the message
 * limit. A batch is never split; it arrived in one message itself.
 */
export const CHUNK_BYTES = 512 << 10;

/** An empty part, which takes few bytes in a message. */
export const NO_PART: ScanPart = {
  regionId: 0,
  batches: [],
  seriesFrom: 0,
  seriesTo: 0,
  definitions: new Uint8Array(0),
  complete: false,
  sequenceTo: 0n,
};

/** Combines small parts into chunks. */
export class ChunkCutter {
  #parts: ScanPart[] = [];
  #bytes = 0;

  /** Adds a part. Returns the chunk before it if the part no longer fits in. */
  add(part: ScanPart): ScanPart[] | undefined {
    const bytes = partBytes(part);
    const isFull = this.#parts.length > 0 && this.#bytes + bytes > CHUNK_BYTES;
    const full = isFull ? this.#parts : undefined;
    if (isFull) {
      this.#parts = [];
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    const last = this.#parts.at(-1);
    const joined = last === undefined ? undefined : join(last, part);
    if (joined === undefined) this.#parts.push(part);
    else this.#parts[this.#parts.length - 1] = joined;
    return full;
  }

  /** Parts that were not returned yet. */
  get remaining(): readonly ScanPart[] {
    return this.#parts;
  }
}

/** Combines two parts if possible, because the caller processes each part separately, which costs time. */
function join(part: ScanPart, next: ScanPart): ScanPart | undefined {
  const areSeries = part.seriesTo > 0 && next.seriesTo > 0;
  if (part.regionId !== next.regionId || areSeries || next.newerManifest !== undefined) return undefined;
  const { seriesFrom, seriesTo, definitions } = next.seriesTo > 0 ? next : part;
  const { complete, sequenceTo } = next;
  const batches = next.batches.length === 0 ? part.batches : [...part.batches, ...next.batches];
  return { ...part, batches, seriesFrom, seriesTo, definitions, complete, sequenceTo };
}

function partBytes({ batches, definitions }: ScanPart): number {
  let bytes = PART_BYTES + definitions.length;
  for (const { batch, sids } of batches) bytes += BATCH_BYTES + batch.length + SID_BYTES * sids.length;
  return bytes;
}

/** Approximate maximum of what is not counted otherwise. */
const PART_BYTES = 64;
const BATCH_BYTES = 128;
const SID_BYTES = 5;

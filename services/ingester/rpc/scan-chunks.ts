import type { ScanPart } from '#shared/contracts/gen/ingester';

/**
 * Bytes of one chunk of an answer, about: 30 ms of work for the caller where cells are numbers, and far below what a
 * message may have. A batch is never cut; it came in a message itself.
 */
export const CHUNK_BYTES = 4 << 20;

/** A part with nothing in it; few bytes as a message. */
export const NO_PART: ScanPart = {
  regionId: 0,
  batches: [],
  seriesFrom: 0,
  seriesTo: 0,
  definitions: new Uint8Array(0),
  complete: false,
  sequenceTo: 0n,
};

/** Gathers parts to chunks, so that what is small goes together. */
export class ChunkCutter {
  #parts: ScanPart[] = [];
  #bytes = 0;

  /** Adds a part. @returns the parts before it, if it does not fit to them. */
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

  /** What was not given away yet. */
  get remaining(): readonly ScanPart[] {
    return this.#parts;
  }
}

/** Both as one part: the caller takes each part over by itself, which is work. */
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

/** At most, about, beside what is counted. */
const PART_BYTES = 64;
const BATCH_BYTES = 128;
const SID_BYTES = 5;

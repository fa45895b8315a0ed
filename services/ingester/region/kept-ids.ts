import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';

import type { LogRecord } from '../wal/record.js';
import { AppliedIds, type KeyMemory } from './applied-ids.js';
import type { Region } from './region.js';

const FILE = 'applied.json';
const FORMAT = 1;

/** Ids of one region, for the grant under which they were applied. */
interface Entry {
  readonly epoch: number;
  /** As `AppliedIds.encode` writes them, in base64. */
  readonly ids: string;
}

interface Contents {
  readonly format: number;
  readonly regions: Readonly<Record<string, Entry>>;
}

/**
 * Ids of batches that were applied, beside the log (docs/formats/wal.md): the log tells of the latest, and forgets those
 * whose rows are in segments, but a sender may try again for longer, and the owner may have begun a new life meanwhile.
 */
export class KeptIds {
  readonly #folder: string;
  readonly #fs: FileSystem;
  /** As an earlier life left them. */
  readonly #entries = new Map<number, Entry>();
  /** As the log tells, of regions that were not open when it was read. */
  readonly #unopened = new Map<number, { readonly epoch: number; readonly applied: AppliedIds }>();

  constructor(folder: string, fs: FileSystem) {
    this.#folder = folder;
    this.#fs = fs;
  }

  /** Reads what an earlier life kept. @param granted regions that are still the node's. @throws `storage_unavailable`. */
  async load(granted: readonly number[]): Promise<void> {
    const path = `${this.#folder}/${FILE}`;
    if ((await this.#fs.size(path)) === undefined) return;
    const { format, regions } = parse(await this.#fs.readFile(path), path);
    if (format !== FORMAT) throw new AlmanacError('storage_unavailable', `"${path}" has an unknown format`);
    const isGranted = new Set(granted);
    for (const [id, entry] of Object.entries(regions)) {
      if (isGranted.has(Number(id))) this.#entries.set(Number(id), entry);
    }
  }

  /** Tells a region that is being opened what is known of it. Rows of another grant may be lost, and count as never sent. */
  report({ regionId, epoch, applied }: Region): void {
    const entry = this.#entries.get(regionId);
    if (entry?.epoch === epoch) applied.adopt(Buffer.from(entry.ids, 'base64'));
    const unopened = this.#unopened.get(regionId);
    if (unopened?.epoch === epoch) applied.adopt(unopened.applied.encode());
    // From now on the region knows, or whoever it is given to.
    this.#entries.delete(regionId);
    this.#unopened.delete(regionId);
  }

  /** Notes a batch of the log whose region is not open. */
  note({ regionId, epoch, batchId }: Pick<LogRecord, 'regionId' | 'epoch' | 'batchId'>): void {
    let unopened = this.#unopened.get(regionId);
    if (unopened?.epoch !== epoch) {
      unopened = { epoch, applied: new AppliedIds(FOR_EVER) };
      this.#unopened.set(regionId, unopened);
    }
    unopened.applied.add(batchId);
  }

  /** Keeps what the regions know by now. */
  async save(open: Iterable<Region>): Promise<void> {
    const entries = new Map(this.#entries);
    for (const [regionId, { epoch, applied }] of this.#unopened) {
      const entry = entries.get(regionId);
      if (entry?.epoch === epoch) applied.adopt(Buffer.from(entry.ids, 'base64'));
      entries.set(regionId, { epoch, ids: encoded(applied) });
    }
    for (const { regionId, epoch, applied } of open) {
      entries.set(regionId, { epoch, ids: encoded(applied) });
    }
    const contents: Contents = { format: FORMAT, regions: Object.fromEntries(entries) };
    await replaceFile(this.#fs, `${this.#folder}/${FILE}`, `${JSON.stringify(contents)}\n`);
    await this.#fs.syncFolder(this.#folder);
  }
}

/** Nothing is forgotten before its region is opened. */
const FOR_EVER: KeyMemory = { clock: { nowMs: () => 0 }, windowMs: Infinity, onEarly: () => undefined };

function encoded(applied: AppliedIds): string {
  return Buffer.from(applied.encode({ hasKeys: false })).toString('base64');
}

function parse(bytes: Uint8Array, path: string): Contents {
  try {
    const contents = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Contents> | null;
    if (typeof contents?.regions === 'object' && contents.regions !== null) return contents as Contents;
  } catch {
    // Said below.
  }
  throw new AlmanacError('storage_unavailable', `"${path}" cannot be read: remove it to go on without it`);
}

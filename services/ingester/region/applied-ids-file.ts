import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';

import type { LogRecord } from '../wal/record.js';
import { AppliedIds, type KeyRetention } from './applied-ids.js';
import type { Region } from './region.js';

const FILE = 'applied.json';
const FORMAT = 1;

/** Ids of one region, under the grant for which they were applied. */
interface Entry {
  readonly epoch: number;
  /** Output of `AppliedIds.encode`, in base64. */
  readonly ids: string;
}

interface Contents {
  readonly format: number;
  readonly regions: Readonly<Record<string, Entry>>;
}

/**
 * Ids of applied batches in a file next to the log (docs/formats/wal.md). The log itself has only the ids of recent
 * batches, because files whose rows are in segments are deleted; but a sender may retry for longer, also after a
 * restart of the owner.
 */
export class AppliedIdsFile {
  readonly #folder: string;
  readonly #fs: FileSystem;
  /** Read from the file of the previous run. */
  readonly #entries = new Map<number, Entry>();
  /** Read from the log, for regions that were not open. */
  readonly #unopened = new Map<number, { readonly epoch: number; readonly applied: AppliedIds }>();

  constructor(folder: string, fs: FileSystem) {
    this.#folder = folder;
    this.#fs = fs;
  }

  /**
   * Reads the file of the previous run.
   * @param granted regions that this node still owns.
   * @throws `storage_unavailable` if the file cannot be read.
   */
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

  /** Adds what is known of a region that is being opened. Ids of another grant are ignored: their rows may be lost. */
  restoreInto({ regionId, epoch, applied }: Region): void {
    const entry = this.#entries.get(regionId);
    if (entry?.epoch === epoch) applied.merge(Buffer.from(entry.ids, 'base64'));
    const unopened = this.#unopened.get(regionId);
    if (unopened?.epoch === epoch) applied.merge(unopened.applied.encode());
    // From now on the region itself has them.
    this.#entries.delete(regionId);
    this.#unopened.delete(regionId);
  }

  /** Adds a batch of the log whose region is not open. */
  addLogged({ regionId, epoch, batchId }: Pick<LogRecord, 'regionId' | 'epoch' | 'batchId'>): void {
    let unopened = this.#unopened.get(regionId);
    if (unopened?.epoch !== epoch) {
      unopened = { epoch, applied: new AppliedIds(UNLIMITED) };
      this.#unopened.set(regionId, unopened);
    }
    unopened.applied.add(batchId);
  }

  /** Writes the ids of all regions, open or not. */
  async save(open: Iterable<Region>): Promise<void> {
    const entries = new Map(this.#entries);
    for (const [regionId, { epoch, applied }] of this.#unopened) {
      const entry = entries.get(regionId);
      if (entry?.epoch === epoch) applied.merge(Buffer.from(entry.ids, 'base64'));
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

/** Keeps every id until its region is opened. */
const UNLIMITED: KeyRetention = { clock: { nowMs: () => 0 }, windowMs: Infinity, onEarlyDiscard: () => undefined };

function encoded(applied: AppliedIds): string {
  return Buffer.from(applied.encode({ hasKeys: false })).toString('base64');
}

function parse(bytes: Uint8Array, path: string): Contents {
  try {
    const contents = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Contents> | null;
    if (typeof contents?.regions === 'object' && contents.regions !== null) return contents as Contents;
  } catch {
    // Reported below.
  }
  throw new AlmanacError('storage_unavailable', `"${path}" cannot be read: remove it to continue without it`);
}

import { AlmanacError } from '#shared/errors/almanac-error';
import type { LocalStore } from '#shared/segments/local-store';

interface ManifestFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

/**
 * Files whose checksum was compared with the manifest's in this process. A flipped bit in a Parquet file gives wrong
 * numbers without an error more often than not, so no file is read before.
 */
export class VerifiedFiles {
  readonly #store: LocalStore;
  readonly #verified = new Map<string, Promise<void>>();

  constructor(store: LocalStore) {
    this.#store = store;
  }

  /** @throws `storage_unavailable` naming the file if it is damaged; a missing file is an error of the disk. */
  async check(files: readonly ManifestFile[]): Promise<void> {
    for (const file of files) {
      let checking = this.#verified.get(file.path);
      if (checking === undefined) {
        checking = this.#verify(file);
        this.#verified.set(file.path, checking);
        checking.catch(() => this.#verified.delete(file.path));
      }
      await checking;
    }
  }

  /** Forgets files that left the manifest. */
  retain(isLive: (path: string) => boolean): void {
    for (const path of this.#verified.keys()) if (!isLive(path)) this.#verified.delete(path);
  }

  async #verify({ path, bytes, crc32c }: ManifestFile): Promise<void> {
    const found = await this.#store.sum(path);
    if (found.bytes === bytes && found.crc32c === crc32c) return;
    throw new AlmanacError('storage_unavailable', `segment "${path}" is damaged: its checksum does not match`);
  }
}

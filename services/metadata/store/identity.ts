import type { CatalogConnection } from './open.js';

/** SQL of the `identity` table: which cluster this is, and which data folder it has. */
export class IdentityStore {
  readonly #read;
  readonly #write;

  constructor(connection: CatalogConnection) {
    this.#read = connection.prepare<[string], { value: string }>('SELECT value FROM identity WHERE name = ?');
    this.#write = connection.prepare<[string, string]>('INSERT INTO identity (name, value) VALUES (?, ?)');
  }

  /** Made with the catalog file. */
  clusterId(): string {
    return this.#read.get('cluster')?.value ?? '';
  }

  /** Empty until an ingester has named it. */
  dataFolderId(): string {
    return this.#read.get('data_folder')?.value ?? '';
  }

  setDataFolderId(id: string): void {
    this.#write.run('data_folder', id);
  }
}

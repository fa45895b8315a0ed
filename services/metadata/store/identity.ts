import type { CatalogConnection } from './open.js';

/** SQL of the `identity` table: the ids of the cluster and its data folder. */
export class IdentityStore {
  readonly #read;
  readonly #write;

  constructor(connection: CatalogConnection) {
    this.#read = connection.prepare<[string], { value: string }>('SELECT value FROM identity WHERE name = ?');
    this.#write = connection.prepare<[string, string]>('INSERT INTO identity (name, value) VALUES (?, ?)');
  }

  /** Created with the catalog file. */
  clusterId(): string {
    return this.#read.get('cluster')?.value ?? '';
  }

  /** Empty until an ingester has registered with one. */
  dataFolderId(): string {
    return this.#read.get('data_folder')?.value ?? '';
  }

  setDataFolderId(id: string): void {
    this.#write.run('data_folder', id);
  }
}

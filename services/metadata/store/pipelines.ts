import type { PipelineVersion } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

/** A stored version of a pipeline. */
export interface PipelineRecord extends PipelineVersion {
  readonly text: string;
}

/** SQL of the `pipelines` table. */
export class PipelineStore {
  readonly #find;
  readonly #latest;
  readonly #versions;
  readonly #count;
  readonly #insert;
  readonly #delete;
  readonly #latestOfAll;

  constructor(connection: CatalogConnection) {
    this.#find = connection.prepare<[string, bigint], PipelineRecord>(
      'SELECT * FROM pipelines WHERE name = ? AND version = ?',
    );
    this.#latest = connection.prepare<[string], PipelineRecord>(
      'SELECT * FROM pipelines WHERE name = ? ORDER BY version DESC LIMIT 1',
    );
    this.#versions = connection.prepare<[], PipelineVersion>(
      'SELECT name, version FROM pipelines ORDER BY name, version DESC',
    );
    this.#latestOfAll = connection.prepare<[], PipelineVersion>(
      'SELECT name, max(version) AS version FROM pipelines GROUP BY name ORDER BY name',
    );
    this.#count = connection.prepare<[], { count: bigint }>('SELECT count(*) AS count FROM pipelines');
    this.#insert = connection.prepare<[string, bigint, string]>('INSERT INTO pipelines VALUES (?, ?, ?)');
    this.#delete = connection.prepare<[string, bigint]>('DELETE FROM pipelines WHERE name = ? AND version = ?');
  }

  find(name: string, version: bigint): PipelineRecord | undefined {
    return this.#find.get(name, version);
  }

  latest(name: string): PipelineRecord | undefined {
    return this.#latest.get(name);
  }

  /** Returns all versions, by name, the newest first. */
  versions(): PipelineVersion[] {
    return this.#versions.all();
  }

  latestOfAll(): PipelineVersion[] {
    return this.#latestOfAll.all();
  }

  count(): number {
    return Number(this.#count.get()?.count ?? 0n);
  }

  insert({ name, version, text }: PipelineRecord): void {
    this.#insert.run(name, version, text);
  }

  /** @returns whether there was such a version. */
  delete(name: string, version: bigint): boolean {
    return this.#delete.run(name, version).changes > 0;
  }
}

import type { Call } from '#shared/contracts/call';
import type { MetadataService, PipelineVersion } from '#shared/contracts/gen/metadata';
import type { CatalogCache } from './catalog-cache.js';

/** A version of a pipeline with its text. */
export interface StoredPipeline {
  readonly version: bigint;
  readonly text: string;
}

type PipelineStore = Pick<MetadataService, 'getPipeline' | 'putPipeline' | 'deletePipeline' | 'listPipelines'>;
type KnownPipelines = Pick<CatalogCache, 'pipeline' | 'pipelines' | 'pipelineChanges' | 'reached'>;

/** The stored pipelines as a process sees them: versions as the watch delivers them, texts from metadata. */
export class PipelineDirectory {
  readonly #metadata: PipelineStore;
  readonly #catalog: KnownPipelines;

  constructor(metadata: PipelineStore, catalog: KnownPipelines) {
    this.#metadata = metadata;
    this.#catalog = catalog;
  }

  /** Returns the latest version, as `CatalogCache.pipeline` does. */
  latest(name: string): PipelineVersion | undefined {
    return this.#catalog.pipeline(name);
  }

  /** Number of changes of pipelines that the watch has delivered. */
  get changes(): number {
    return this.#catalog.pipelineChanges;
  }

  /** Returns the latest versions that the watch has delivered; zero for pipelines that were deleted. */
  known(): readonly PipelineVersion[] {
    return this.#catalog.pipelines();
  }

  /** Fetches a version, or the latest; undefined if there is none. */
  async fetch(name: string, version: bigint | undefined, call: Call): Promise<StoredPipeline | undefined> {
    const found = await this.#metadata.getPipeline({ name, version: version ?? 0n }, call);
    return found.version === 0n ? undefined : found;
  }

  /** Stores a version, which this process sees when the call returns. */
  async put(name: string, text: string, call: Call): Promise<bigint> {
    const { version, catalogVersion } = await this.#metadata.putPipeline({ name, text }, call);
    await this.#catalog.reached(catalogVersion, call);
    return version;
  }

  /** Deletes a version. @returns whether there was one. */
  async delete(name: string, version: bigint, call: Call): Promise<boolean> {
    const { deleted, catalogVersion } = await this.#metadata.deletePipeline({ name, version }, call);
    await this.#catalog.reached(catalogVersion, call);
    return deleted;
  }

  /** Returns all versions, by name, the newest first. */
  async list(call: Call): Promise<readonly PipelineVersion[]> {
    return (await this.#metadata.listPipelines({}, call)).pipelines;
  }
}

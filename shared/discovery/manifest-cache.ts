import type { Call } from '#shared/contracts/call';
import type { RegionManifest } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';

/** The newest known manifest of each region. */
export class ManifestCache {
  readonly #metadata: MetadataService;
  readonly #manifests = new Map<number, RegionManifest>();

  constructor(metadata: MetadataService) {
    this.#metadata = metadata;
  }

  /** Stores a manifest unless a newer one is known. */
  apply(manifest: RegionManifest): void {
    const known = this.#manifests.get(manifest.regionId);
    if (known === undefined || known.version < manifest.version) this.#manifests.set(manifest.regionId, manifest);
  }

  /** Drops all manifests, because changes may have been missed. */
  clear(): void {
    this.#manifests.clear();
  }

  remove(regionId: number): void {
    this.#manifests.delete(regionId);
  }

  /** Returns the newest known manifest. Without one, the region's owner replies to a scan with its own. */
  known(regionId: number): RegionManifest | undefined {
    return this.#manifests.get(regionId);
  }

  /** Fetches the manifest from metadata. @throws `region_not_found`. */
  async refresh(regionId: number, call: Call): Promise<RegionManifest> {
    this.apply(await this.#metadata.getManifest({ regionId }, call));
    return this.#manifests.get(regionId) ?? this.#metadata.getManifest({ regionId }, call);
  }
}

import type { Call } from '#shared/contracts/call';
import type { PipelineVersion } from '#shared/contracts/gen/metadata';
import type { PipelineDirectory } from '#shared/discovery/pipeline-directory';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { PipelineRoute, RoutedRequest } from './document/pipeline-routes.js';

const FETCHES_AT_ONCE = 16;

interface RoutedPipeline {
  readonly latest: PipelineVersion;
  readonly routes: readonly PipelineRoute[];
}

/** The routes of all pipelines, in their latest versions: a request that names no pipeline takes the first that fits. */
export class RouteTable {
  readonly #directory: () => PipelineDirectory;
  readonly #routesOf: (name: string, text: string) => readonly PipelineRoute[];
  #pipelines: ReadonlyMap<string, RoutedPipeline> = new Map();
  /** Those with routes, by name. */
  #routed: readonly RoutedPipeline[] = [];
  /** Changes that are loaded; -1 before the first. */
  #changes = -1;
  #loading: Promise<void> | undefined = undefined;

  /** @param routesOf compiles the routes of the text of a pipeline. */
  constructor(directory: () => PipelineDirectory, routesOf: (name: string, text: string) => readonly PipelineRoute[]) {
    this.#directory = directory;
    this.#routesOf = routesOf;
  }

  /**
   * Returns the name of the pipeline for a request; a promise only after a pipeline has changed.
   *
   * @throws an error that may heal if routes have never been loaded, and metadata does not reply.
   */
  find(request: RoutedRequest, call: Call): string | undefined | Promise<string | undefined> {
    if (this.#changes === this.#directory().changes) return this.#match(request);
    // What another request has begun to load may lack the newest change.
    if (this.#loading !== undefined) return this.#loading.then(() => this.find(request, call));
    this.#loading = this.#load(call).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading.then(() => this.#match(request));
  }

  #match(request: RoutedRequest): string | undefined {
    return this.#routed.find(({ routes }) => routes.some((route) => route.matches(request)))?.latest.name;
  }

  async #load(call: Call): Promise<void> {
    const { changes } = this.#directory();
    const current = this.#directory()
      .known()
      .filter(({ version }) => version !== 0n);
    try {
      const pipelines = new Map<string, RoutedPipeline>();
      for (let at = 0; at < current.length; at += FETCHES_AT_ONCE) {
        const some = current.slice(at, at + FETCHES_AT_ONCE);
        const loaded = await Promise.all(some.map((latest) => this.#pipeline(latest, call)));
        for (const pipeline of loaded) pipelines.set(pipeline.latest.name, pipeline);
      }
      this.#pipelines = pipelines;
    } catch (error) {
      // Known routes keep working while metadata is down.
      if (this.#changes >= 0) return;
      throw error;
    }
    this.#routed = [...this.#pipelines.values()]
      .filter(({ routes }) => routes.length > 0)
      .sort((a, b) => (a.latest.name < b.latest.name ? -1 : 1));
    this.#changes = changes;
  }

  async #pipeline(latest: PipelineVersion, call: Call): Promise<RoutedPipeline> {
    const known = this.#pipelines.get(latest.name);
    if (known?.latest.version === latest.version) return known;
    const stored = await this.#directory().fetch(latest.name, latest.version, call);
    if (!stored?.text.includes('routes')) return { latest, routes: [] };
    try {
      return { latest, routes: this.#routesOf(latest.name, stored.text) };
    } catch (error) {
      // An older release may have stored what does not build any more.
      if (AlmanacError.from(error).httpStatus === 400) return { latest, routes: [] };
      throw error;
    }
  }
}

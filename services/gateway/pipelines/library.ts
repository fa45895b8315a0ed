import { LRUCache } from 'lru-cache';

import { systemRandom } from '#shared/clock/random';
import type { Call } from '#shared/contracts/call';
import type { PipelineVersion } from '#shared/contracts/gen/metadata';
import type { PipelineDirectory, StoredPipeline } from '#shared/discovery/pipeline-directory';
import { AlmanacError } from '#shared/errors/almanac-error';

import { requestError } from './build-error.js';
import { compilePipeline, type CompiledPipeline } from './compile.js';
import { canonicalName, IDENTITY, identityPipeline, type IdentityOptions } from './identity.js';
import { FailureKeys } from './failure-keys.js';
import { RouteTable } from './route-table.js';
import { plainResources, type PipelineResources } from './resources.js';
import type { PipelineSet } from './run.js';
import { pipelineVersionText } from './version.js';

/** Compiled pipelines that stay in memory. */
const CACHED_MAX = 500;
/** Pipelines that the dispatchers of one request can reach. */
const REACHABLE_MAX = 100;

/** A pipeline that a request names. */
export interface PipelineName {
  readonly name: string;
  /** Undefined for the latest. */
  readonly version: bigint | undefined;
}

interface CachedPipeline {
  /** What was known of the versions when it was fetched; another object after any change. */
  readonly latest: PipelineVersion | undefined;
  readonly pipeline: CompiledPipeline;
}

/** Finds pipelines and compiles them, each version once. */
export class PipelineLibrary {
  readonly timeColumn: string;
  /** Keys of the items that this process stores because they failed. */
  readonly failureKeys = new FailureKeys(systemRandom);
  /** Finds the pipelines of requests that name none. */
  readonly routes: RouteTable;
  readonly #directory: () => PipelineDirectory;
  readonly #resources: PipelineResources;
  readonly #cache = new LRUCache<string, CachedPipeline>({ max: CACHED_MAX });

  /**
   * @param timeColumn name of the time index where a pipeline names none.
   * @param directory the stored pipelines; called for each request, since it may not exist before the process is ready.
   */
  constructor(timeColumn: string, directory: () => PipelineDirectory, resources: PipelineResources) {
    this.timeColumn = timeColumn;
    this.#directory = directory;
    this.#resources = resources;
    this.routes = new RouteTable(directory, (name, text) => this.compile(name, text).extras.routes);
  }

  /** Returns a library of the same pipelines whose runs change no state and no counter of this one. */
  forDryRun(): PipelineLibrary {
    return new PipelineLibrary(this.timeColumn, this.#directory, plainResources(this.#resources));
  }

  get directory(): PipelineDirectory {
    return this.#directory();
  }

  /**
   * Returns a pipeline with all that its dispatchers can reach, each in one version for the whole request.
   *
   * @throws `invalid_arguments` if there is no such pipeline.
   */
  async open(wanted: PipelineName, identity: IdentityOptions, call: Call): Promise<PipelineSet> {
    if (canonicalName(wanted.name) === IDENTITY) return this.close(identityPipeline(this.timeColumn, identity), call);
    const root = await this.find(wanted, call);
    if (root === undefined) throw pipelineNotFound(wanted);
    return this.close(root, call, identity);
  }

  /** Adds to a pipeline all that its dispatchers can reach, and loads the tables that they look up. */
  async close(
    root: CompiledPipeline,
    call: Call,
    { usesItemTime = false }: Pick<IdentityOptions, 'usesItemTime'> = {},
  ): Promise<PipelineSet> {
    const found = new Map<string, CompiledPipeline | undefined>([[root.name, root]]);
    const add = async (name: string): Promise<void> => {
      if (found.has(name)) return;
      if (found.size > REACHABLE_MAX) throw requestError(`dispatchers reach more than ${REACHABLE_MAX} pipelines`);
      // The custom time index does not carry over.
      const options = { customTimeIndex: undefined, ignoresErrors: false, usesItemTime };
      const isIdentity = canonicalName(name) === IDENTITY;
      const pipeline = isIdentity
        ? identityPipeline(this.timeColumn, options)
        : await this.find({ name, version: undefined }, call);
      found.set(name, pipeline);
      await addChildren(pipeline);
    };
    const addChildren = async (pipeline: CompiledPipeline | undefined): Promise<void> => {
      for (const { pipeline: child = IDENTITY } of pipeline?.dispatcher?.rules ?? []) await add(child);
    };
    await addChildren(root);
    const all = [...found.values()].flatMap((pipeline) => pipeline ?? []);
    for (const table of all.flatMap(({ lookups }) => lookups)) await table.prepare(call);
    return { root, find: (name) => found.get(name), concealers: all.flatMap(({ concealers }) => concealers) };
  }

  /** Returns a stored pipeline, compiled; undefined if there is none. */
  async find({ name, version }: PipelineName, call: Call): Promise<CompiledPipeline | undefined> {
    const latest = this.directory.latest(name);
    const known = version ?? (latest?.version === 0n ? undefined : latest?.version);
    const cached = known === undefined ? undefined : this.#cache.get(cacheKey(name, known));
    if (cached !== undefined && cached.latest === latest) return cached.pipeline;
    const stored = await this.directory.fetch(name, version, call);
    if (stored === undefined) return undefined;
    return this.#compiled(name, stored, latest);
  }

  /** Compiles the text of a pipeline. @throws `invalid_arguments` if it does not build. */
  compile(name: string, text: string): CompiledPipeline {
    return compilePipeline(name, text, this.timeColumn, this.#resources);
  }

  #compiled(name: string, { version, text }: StoredPipeline, latest: PipelineVersion | undefined): CompiledPipeline {
    const key = cacheKey(name, version);
    // A version never changes: what was compiled is valid as long as it is stored.
    const pipeline = this.#cache.get(key)?.pipeline ?? { ...this.compile(name, text), version };
    this.#cache.set(key, { latest, pipeline });
    return pipeline;
  }
}

function cacheKey(name: string, version: bigint): string {
  return `${version} ${name}`;
}

/** Makes the error for a pipeline or a version that does not exist. */
export function pipelineNotFound({ name, version }: PipelineName): AlmanacError {
  const text = version === undefined ? 'latest' : `${pipelineVersionText(version)}+0000`;
  return new AlmanacError('invalid_arguments', `Pipeline not found, name: ${name}, version: ${text}`);
}

import type { SeriesDefinition } from '#shared/rowbatch/definitions';

/**
 * Finds definitions by id. They are asked for in the order in which they came, at least nearly always: then it takes one
 * comparison each, where a map of thousands would have to be made first.
 */
export class DefinitionLookup {
  readonly #definitions: readonly SeriesDefinition[];
  #byTsid: ReadonlyMap<bigint, SeriesDefinition> | undefined = undefined;
  #next = 0;

  constructor(definitions: readonly SeriesDefinition[]) {
    this.#definitions = definitions;
  }

  find(tsid: bigint): SeriesDefinition | undefined {
    const { length } = this.#definitions;
    if (length === 0) return undefined;
    if (this.#next === length) this.#next = 0;
    const expected = this.#definitions[this.#next];
    if (expected.tsid === tsid) {
      this.#next++;
      return expected;
    }
    this.#byTsid ??= new Map(this.#definitions.map((it) => [it.tsid, it]));
    return this.#byTsid.get(tsid);
  }
}

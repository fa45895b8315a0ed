import type { SeriesDefinition } from '#shared/rowbatch/definitions';

/**
 * Finds definitions by series id. Lookups usually come in the order of the definitions, which takes one comparison each
 * instead of a map of thousands.
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

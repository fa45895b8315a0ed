/** Kinds of indexes of columns (spec: sql). */
export type IndexKind = 'FULLTEXT' | 'SKIPPING' | 'INVERTED' | 'VECTOR';

/** Options of each kind with their defaults; an option without a default is shown only where it was given. */
export const INDEX_OPTIONS: Readonly<Record<IndexKind, Readonly<Record<string, string | undefined>>>> = {
  FULLTEXT: {
    analyzer: 'English',
    backend: 'bloom',
    case_sensitive: 'false',
    false_positive_rate: '0.01',
    granularity: '10240',
  },
  SKIPPING: { false_positive_rate: '0.01', granularity: '10240', type: 'BLOOM' },
  INVERTED: {},
  VECTOR: {
    engine: undefined,
    metric: undefined,
    connectivity: undefined,
    expansion_add: undefined,
    expansion_search: undefined,
  },
};

/** Values of options that are words. `tantivy` is another name of `inverted`. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  analyzer: ['English', 'Chinese'],
  backend: ['bloom', 'inverted', 'tantivy'],
  case_sensitive: ['true', 'false'],
  type: ['BLOOM'],
};

/** Returns the options of an index with the defaults of its kind, in the order of their names. */
export function indexOptions(kind: IndexKind, given: Readonly<Record<string, string>>): Record<string, string> {
  const options: Record<string, string> = {};
  for (const name of Object.keys(INDEX_OPTIONS[kind]).sort()) {
    const value = given[name] ?? INDEX_OPTIONS[kind][name];
    if (value !== undefined) options[name] = value;
  }
  return options;
}

/** Returns the value of an option as it is stored; undefined if it is not valid. */
export function indexOptionValue(name: string, text: string): string | undefined {
  if (name === 'granularity') return /^[1-9]\d{0,8}$/.test(text) ? text : undefined;
  if (name === 'false_positive_rate') return Number(text) > 0 && Number(text) < 1 ? text : undefined;
  if (!Object.hasOwn(WORDS, name)) return text;
  return WORDS[name].find((word) => word.toLowerCase() === text.toLowerCase());
}

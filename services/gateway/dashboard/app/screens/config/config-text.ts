/** A key of the configuration. */
export interface ConfigEntry {
  readonly name: string;
  /** As TOML. */
  readonly value: string;
  /** Where the value came from; `default` if nothing sets it. */
  readonly source: string;
  /** Its value in the process that this one is compared with, '' if that has no such key; undefined: not compared. */
  readonly other?: string;
}

/** A table of the configuration. */
export interface ConfigSection {
  /** Empty: the keys before the first table. */
  readonly name: string;
  readonly entries: readonly ConfigEntry[];
}

/** Reads the text of `/config?sources=true`: one key a line, with a comment that names the source. */
export function parseConfig(toml: string): ConfigSection[] {
  const sections: { readonly name: string; readonly entries: ConfigEntry[] }[] = [];
  let current: { readonly name: string; readonly entries: ConfigEntry[] } = { name: '', entries: [] };
  sections.push(current);
  for (const line of toml.split('\n')) {
    const table = /^\[(.+)\]$/.exec(line);
    if (table !== null) {
      current = { name: table[1], entries: [] };
      sections.push(current);
      continue;
    }
    const key = /^([\w.-]+) = (.*)$/.exec(line);
    if (key === null) continue;
    const [, name, rest] = key;
    const length = valueLength(rest);
    const source = rest.slice(length).trim().replace(/^#\s*/, '');
    current.entries.push({ name, value: rest.slice(0, length), source: source === '' ? 'default' : source });
  }
  return sections.filter(({ entries }) => entries.length > 0);
}

/** Returns the length of the value at the beginning of a text: a `#` in a text or a list of texts begins no comment. */
function valueLength(text: string): number {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (isQuoted && c === '\\') at++;
    else if (c === '"') isQuoted = !isQuoted;
    else if (!isQuoted && c === '#') return text.slice(0, at).trimEnd().length;
  }
  return text.length;
}

/** Which keys are shown. */
export interface ConfigFilter {
  /** All words must be in the key, its value or its source. */
  readonly search: string;
  /** Only keys that something sets. */
  readonly isChangedOnly: boolean;
}

/** Returns the sections with the keys that a filter lets through, without empty ones. */
export function filterConfig(
  sections: readonly ConfigSection[],
  { search, isChangedOnly }: ConfigFilter,
): ConfigSection[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const isShown = (section: string, { name, value, source }: ConfigEntry): boolean => {
    if (isChangedOnly && source === 'default') return false;
    const text = `${section}.${name} ${value} ${source}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return sections
    .map(({ name, entries }) => ({ name, entries: entries.filter((entry) => isShown(name, entry)) }))
    .filter(({ entries }) => entries.length > 0);
}

/** Returns the keys that have another value in another process, or are in only one of both. */
export function differences(own: readonly ConfigSection[], other: readonly ConfigSection[]): ConfigSection[] {
  const names = [...new Set([...own, ...other].map(({ name }) => name))];
  const entriesOf = (sections: readonly ConfigSection[], section: string): ReadonlyMap<string, ConfigEntry> =>
    new Map(sections.find(({ name }) => name === section)?.entries.map((entry) => [entry.name, entry]));
  return names
    .map((name) => {
      const [here, there] = [entriesOf(own, name), entriesOf(other, name)];
      const keys = [...new Set([...here.keys(), ...there.keys()])];
      const entries = keys.map((key): ConfigEntry => {
        const { value, source } = here.get(key) ?? { value: '', source: 'not in this process' };
        return { name: key, value, source, other: there.get(key)?.value ?? '' };
      });
      return { name, entries: entries.filter(({ value, other: its }) => value !== its) };
    })
    .filter(({ entries }) => entries.length > 0);
}

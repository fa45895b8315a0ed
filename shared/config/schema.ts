import type { Key, RawValue } from './key.js';
import { SCHEMA } from './keys.js';

type BaseSections = typeof SCHEMA;

/** A key of any type, for code that treats all keys alike. */
export type AnyKey = Key<RawValue | undefined, string>;

/** The keys of one section, by name. */
export type SectionKeys = Readonly<Record<string, AnyKey>>;

/** A section that a part of the program, such as a protocol, adds to the schema. */
export interface ConfigSection<K extends SectionKeys = SectionKeys> {
  readonly name: string;
  readonly keys: K;
}

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type WithUnit<Name extends string, Unit extends string> = Name extends `${string}${Unit}` ? Name : `${Name}${Unit}`;
type PropertyName<Name, K> = K extends Key<infer _T, infer Unit> ? WithUnit<Camel<Name & string>, Unit> : never;
type Value<K> = K extends Key<infer T, infer _Unit> ? T : never;

/** The values of a section: `body_limit`, a size, becomes `bodyLimitBytes`. */
export type SectionValues<S> = { readonly [Name in keyof S as PropertyName<Name, S[Name]>]: Value<S[Name]> };

/** The whole configuration, typed by the schema: `config.http.bodyLimitBytes`, `config.naming`. */
export type Config = SectionValues<BaseSections['top']> & {
  readonly [Name in Exclude<keyof BaseSections, 'top'>]: SectionValues<BaseSections[Name]>;
};

/** One key and its location in the schema. */
export interface Entry {
  readonly section: string;
  readonly name: string;
  /** `http.addr`; for a top-level key just its name. */
  readonly path: string;
  /** Property name in its section of `Config`. */
  readonly property: string;
  readonly key: AnyKey;
}

/** All keys that a configuration may have. */
export interface ConfigSchema {
  /** In the order in which they are printed; the first is `top`. */
  readonly sections: readonly string[];
  readonly entries: readonly Entry[];
}

/** Joins the keys of `SCHEMA` and those of further sections. */
export function composeSchema(added: readonly ConfigSection[]): ConfigSchema {
  const base = Object.entries(SCHEMA).map(([name, keys]): ConfigSection => ({ name, keys }));
  const all = [...base, ...added];
  return { sections: all.map(({ name }) => name), entries: all.flatMap(entriesOf) };
}

/** Returns the values of a section that was added to the schema. */
export function sectionValues<K extends SectionKeys>(config: Config, section: ConfigSection<K>): SectionValues<K> {
  return (config as unknown as Readonly<Record<string, SectionValues<K>>>)[section.name];
}

function entriesOf({ name: section, keys }: ConfigSection): Entry[] {
  return Object.entries(keys).map(([name, key]) => ({
    section,
    name,
    path: section === 'top' ? name : `${section}.${name}`,
    property: propertyName(name, key.unit),
    key,
  }));
}

function propertyName(name: string, unit: string): string {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return camel.endsWith(unit) ? camel : `${camel}${unit}`;
}

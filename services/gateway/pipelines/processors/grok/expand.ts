import { buildError } from '../../build-error.js';
import { Pattern } from '../../text/pattern.js';
import { TEXT_TYPES, type TextType } from '../../values/typed-text.js';
import { ECS_NAMES, GROK_PATTERNS } from './library.js';

/** Patterns inside of each other. */
const DEPTH_MAX = 16;
/** A pattern with all patterns inside of it. */
const EXPANDED_BYTES_MAX = 32 * 1024;

/** A group of a compiled pattern, and the field that it sets. */
export interface GrokField {
  /** Number of the group. */
  readonly group: number;
  readonly name: string;
  readonly type: TextType | undefined;
}

/** A grok pattern that is ready to run. */
export interface GrokPattern {
  readonly pattern: Pattern;
  readonly fields: readonly GrokField[];
}

/** Named patterns that patterns can use. */
export interface GrokDefinitions {
  /** Those of the pipeline; they hide those of the library. */
  readonly own: ReadonlyMap<string, string>;
  /** Whether fields of the library have names of the Elastic Common Schema. */
  readonly usesEcs: boolean;
}

/** `%{NAME}`, `%{NAME:field}`, `%{NAME:field:type}`, an escape, or a group with a name. */
const TOKEN = /\\[^]|%\{([^}]*)\}|%\{|\(\?P?<([A-Za-z_][\w.@[\]-]*)>|\(\?>/g;
const REFERENCE = /^([A-Za-z0-9_]+)(?::([\w.@[\] -]+?))?(?::([A-Za-z]+))?$/;

/** Compiles a grok pattern. @throws `invalid_arguments` if it is malformed, too large, or uses unknown patterns. */
export function compileGrok(source: string, definitions: GrokDefinitions): GrokPattern {
  const expansion = new Expansion(source, definitions);
  const text = expansion.expand(source, [], false);
  const pattern = new Pattern(text, EXPANDED_BYTES_MAX);
  const fields = expansion.fields.map((field, i) => ({ ...field, group: pattern.groupNumber(groupName(i)) }));
  return { pattern, fields };
}

function groupName(position: number): string {
  return `f${position}`;
}

class Expansion {
  readonly fields: Omit<GrokField, 'group'>[] = [];
  readonly #source: string;
  readonly #definitions: GrokDefinitions;
  #bytes = 0;

  constructor(source: string, definitions: GrokDefinitions) {
    this.#source = source;
    this.#definitions = definitions;
  }

  /**
   * Returns a pattern with the patterns inside of it.
   *
   * @param path names of the patterns around it.
   * @param isLibrary whether it is one of the library.
   */
  expand(source: string, path: readonly string[], isLibrary: boolean): string {
    this.#bytes += Buffer.byteLength(source);
    if (this.#bytes > EXPANDED_BYTES_MAX) throw this.#fail(`it is longer than ${EXPANDED_BYTES_MAX} bytes`);
    return source.replace(TOKEN, (token, reference: string | undefined, group: string | undefined) => {
      if (reference !== undefined) return this.#reference(reference, path, isLibrary);
      if (group !== undefined) return `(?<${this.#add(group, undefined)}>`;
      if (token === '%{') throw this.#fail('"%{" is not closed');
      // A group that keeps what it has matched only saves time in engines that go back.
      return token === '(?>' ? '(?:' : token;
    });
  }

  #reference(reference: string, path: readonly string[], isLibrary: boolean): string {
    const [, name, field, typeName] = REFERENCE.exec(reference) ?? [];
    if (name === undefined) throw this.#fail(`"%{${reference}}" is not %{NAME}, %{NAME:field} or %{NAME:field:type}`);
    if (path.includes(name)) throw this.#fail(`pattern ${name} contains itself`);
    if (path.length >= DEPTH_MAX) throw this.#fail(`patterns are nested in more than ${DEPTH_MAX} levels`);
    const type = typeName === undefined ? undefined : this.#type(typeName);
    const own = this.#definitions.own.get(name);
    const source = own ?? GROK_PATTERNS.get(name);
    if (source === undefined) throw this.#fail(`pattern ${name} does not exist`);
    // The number of a group follows its position in the text, so it is added before those inside of it.
    const group = field === undefined ? undefined : this.#add(this.#fieldName(field, isLibrary), type);
    const inner = this.expand(source, [...path, name], own === undefined);
    return group === undefined ? `(?:${inner})` : `(?<${group}>${inner})`;
  }

  #type(given: string): TextType {
    const type = TEXT_TYPES.find((it) => it === given);
    if (type === undefined) throw this.#fail(`type ${given} does not exist: use one of ${TEXT_TYPES.join(', ')}`);
    return type;
  }

  #fieldName(given: string, isLibrary: boolean): string {
    return isLibrary && this.#definitions.usesEcs ? (ECS_NAMES.get(given) ?? given) : given;
  }

  #add(given: string, type: TextType | undefined): string {
    // `[a][b]` is how Logstash writes `a.b`.
    const name = given.startsWith('[') ? given.slice(1, -1).replaceAll('][', '.') : given;
    this.fields.push({ name, type });
    return groupName(this.fields.length - 1);
  }

  #fail(reason: string): Error {
    return buildError(`Invalid grok pattern "${this.#source}": ${reason}`);
  }
}

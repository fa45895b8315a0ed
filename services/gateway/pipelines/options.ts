import { buildError } from './build-error.js';
import { isArray, isObject, printValue, type ObjectValue, type PipelineValue } from './values/value.js';

/** A field that is read, and the name under which its result is stored. */
export interface FieldPair {
  readonly from: string;
  readonly to: string;
}

const FIELD_KEYS = ['field', 'fields'] as const;
/** Options of every processor. */
const COMMON = ['field', 'fields', 'ignore_missing', 'if', 'ignore_failure', 'on_failure', 'tag', 'description'];

/** The options of one entry of a pipeline, each read by its type. */
export class Options {
  readonly #options: ObjectValue;
  readonly #read = new Set<string>(COMMON);
  readonly #warnings: string[] = [];

  constructor(options: ObjectValue) {
    this.#options = options;
  }

  /** Returns the names of all options, in the order of the text. */
  keys(): string[] {
    return [...this.#options.keys()];
  }

  /** Reads `field` and `fields`; the later one in the text counts. */
  fields(): FieldPair[] {
    const key = [...this.#options.keys()].findLast((name) => FIELD_KEYS.some((it) => it === name));
    if (key === undefined) return [];
    const given = this.#options.get(key) ?? null;
    if (key === 'field') return [fieldPair(given, 'field')];
    if (!isArray(given)) throw buildError('Field fields must be a list');
    return given.map((field) => fieldPair(field, 'fields'));
  }

  /** Returns an option of any type; null and absent are undefined. */
  value(name: string): Exclude<PipelineValue, null> | undefined {
    this.#read.add(name);
    return this.#options.get(name) ?? undefined;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'string') return value;
    throw buildError(`Field ${name} must be a string`);
  }

  flag(name: string, byDefault: boolean): boolean {
    const value = this.value(name) ?? byDefault;
    if (typeof value === 'boolean') return value;
    throw buildError(`Field ${name} must be a boolean`);
  }

  get ignoreMissing(): boolean {
    return this.flag('ignore_missing', false);
  }

  /** Whether the processor may leave an item as it is, by a condition or by ignoring a failure. */
  get mayBePassedOver(): boolean {
    return this.value('if') !== undefined || this.flag('ignore_failure', false);
  }

  /** Reads an option that is one of several words, in any letter case if `folds`. */
  oneOf<T extends string>(name: string, words: readonly T[], byDefault: T, failure: (given: string) => string): T {
    const given = this.text(name) ?? byDefault;
    const word = words.find((it) => it === given);
    if (word === undefined) throw buildError(failure(given));
    return word;
  }

  /** Reads a list of texts; numbers and booleans count as their text. */
  texts(name: string): string[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!isArray(value)) throw buildError(`Field ${name} must be a list`);
    return value.map((entry) => {
      if (entry === null || typeof entry === 'object') throw buildError(`Field ${name} must be a list of strings`);
      return printValue(entry);
    });
  }

  /** Reads a map from names to texts. */
  textMap(name: string): Map<string, string> | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw buildError(`Field ${name} must be a map`);
    const texts = new Map<string, string>();
    for (const [key, text] of value) {
      if (typeof text !== 'string') throw buildError(`Field ${name} must be a map of strings`);
      texts.set(key, text);
    }
    return texts;
  }

  warn(text: string): void {
    this.#warnings.push(text);
  }

  /** Returns what the author of the pipeline should know, such as options that were not read. */
  warnings(): string[] {
    const unknown = [...this.#options.keys()].filter((name) => !this.#read.has(name));
    return [...unknown.map((name) => `unknown option ${name}`), ...this.#warnings];
  }
}

function fieldPair(given: PipelineValue, option: string): FieldPair {
  if (typeof given === 'string') {
    const [from, to = from] = given.split(',').map((part) => part.trim());
    if (from === '') throw buildError('Empty input field');
    return { from, to: to === '' ? from : to };
  }
  if (!isObject(given)) throw buildError(`Field ${option} must be a string or key-rename_to map`);
  const [from, to] = [given.get('key'), given.get('rename_to')];
  if (typeof from !== 'string' || typeof to !== 'string') {
    throw buildError(
      "Field renaming must be a string pair of 'key' and 'rename_to', " +
        `got key: ${printValue(from ?? null)}, rename_to: ${printValue(to ?? null)}`,
    );
  }
  if (from === '') throw buildError('Empty input field');
  return { from, to };
}

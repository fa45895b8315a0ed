import { NamedValues } from './named-values.js';

/** Label of the error of a line. */
export const ERROR_LABEL = '__error__';
/** Label of the text of that error. */
export const ERROR_DETAILS_LABEL = '__error_details__';

/** Added to a label that a parser finds and that the stream has too. */
const SUFFIX = '_extracted';

/** Where a label comes from. */
type LabelSource = 'metadata' | 'parsed';

/** The labels of one line on its way through a pipeline; reused for the next line. */
export class RowLabels {
  #stream: ReadonlyMap<string, string> = new Map();
  readonly #metadata = new NamedValues();
  readonly #parsed = new NamedValues();
  readonly #removed = new Set<string>();
  readonly #wanted: ReadonlySet<string> | undefined;
  #error = '';
  #errorDetails = '';

  /** @param wanted names of labels of parsers that are kept; undefined: all. */
  constructor(wanted?: ReadonlySet<string>) {
    this.#wanted = wanted;
  }

  /** Begins the next line. */
  reset(stream: ReadonlyMap<string, string>): void {
    this.#stream = stream;
    this.#metadata.clear();
    this.#parsed.clear();
    if (this.#removed.size > 0) this.#removed.clear();
    this.#error = '';
    this.#errorDetails = '';
  }

  /** The error of the line; empty if there is none. */
  get error(): string {
    return this.#error;
  }

  get errorDetails(): string {
    return this.#errorDetails;
  }

  /** Returns the value of a label; empty if there is none. */
  get(name: string): string {
    return this.find(name) ?? '';
  }

  /** Returns the value of a label; undefined if there is none. */
  find(name: string): string | undefined {
    if (name === ERROR_LABEL) return this.#error === '' ? undefined : this.#error;
    if (name === ERROR_DETAILS_LABEL) return this.#errorDetails === '' ? undefined : this.#errorDetails;
    const value = this.#parsed.get(name);
    if (value !== undefined) return value;
    if (this.#removed.has(name)) return undefined;
    return this.#metadata.get(name) ?? this.#stream.get(name);
  }

  /** Adds structured metadata. */
  addMetadata(name: string, value: string): void {
    this.#metadata.set(this.#stream.has(name) ? name + SUFFIX : name, value);
  }

  /** Adds what a parser has found. The first value of a name counts. */
  extract(name: string, value: string): void {
    const isTaken = this.#stream.has(name) || this.#metadata.has(name);
    const label = isTaken ? name + SUFFIX : name;
    if (this.#wanted !== undefined && !this.#wanted.has(label)) return;
    if (!this.#parsed.has(label)) this.#parsed.set(label, value);
  }

  /** Sets a label, whatever it was. */
  set(name: string, value: string): void {
    if (name === ERROR_LABEL) this.#error = value;
    else if (name === ERROR_DETAILS_LABEL) this.#errorDetails = value;
    else this.#parsed.set(name, value);
  }

  /** Removes a label. */
  remove(name: string): void {
    if (name === ERROR_LABEL) this.#error = '';
    else if (name === ERROR_DETAILS_LABEL) this.#errorDetails = '';
    else {
      this.#parsed.delete(name);
      this.#removed.add(name);
    }
  }

  /** Notes an error; the first one counts. */
  fail(error: string, details: string): void {
    if (this.#error !== '') return;
    this.#error = error;
    this.#errorDetails = details.slice(0, 500);
  }

  /** Calls `visit` for each label with a value; labels of parsers include the error. */
  each(visit: (name: string, value: string, source: LabelSource | 'stream') => void): void {
    for (const [name, value] of this.#stream) {
      if (!this.#parsed.has(name) && !this.#removed.has(name)) visit(name, value, 'stream');
    }
    this.#metadata.each((name, value) => {
      if (value !== '' && !this.#parsed.has(name) && !this.#removed.has(name)) visit(name, value, 'metadata');
    });
    this.#parsed.each((name, value) => {
      if (value !== '') visit(name, value, 'parsed');
    });
    if (this.#error === '') return;
    visit(ERROR_LABEL, this.#error, 'parsed');
    if (this.#errorDetails !== '') visit(ERROR_DETAILS_LABEL, this.#errorDetails, 'parsed');
  }

  /** Returns all labels, sorted by name. */
  sorted(): [name: string, value: string][] {
    const all: [string, string][] = [];
    this.each((name, value) => all.push([name, value]));
    return all.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** Makes a label name of a text: other characters than letters, digits and `_` become `_`. */
export function labelName(text: string): string {
  let name = labelNames.get(text);
  if (name === undefined) {
    name = text.trim().replace(/[^A-Za-z0-9_]/g, '_');
    if (/^\d/.test(name)) name = `_${name}`;
    if (labelNames.size >= NAMES_MAX) labelNames.clear();
    if (text.length <= NAME_CHARS_MAX) labelNames.set(text, name);
  }
  return name;
}

/** Names that were made before: lines have few keys, and each line has them again. */
const labelNames = new Map<string, string>();
const NAMES_MAX = 10_000;
const NAME_CHARS_MAX = 200;

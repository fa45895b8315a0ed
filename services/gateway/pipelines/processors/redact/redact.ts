import { createHmac } from 'node:crypto';

import { buildError } from '../../build-error.js';
import { Held, type Item, type KeySlots } from '../../item.js';
import type { Options } from '../../options.js';
import { Pattern } from '../../text/pattern.js';
import { isArray, isObject, printValue, type ObjectValue, type PipelineValue } from '../../values/value.js';
import { eachField, type BuildContext, type ProcessorKind, type Step } from '../processor.js';
import { REDACT_PRESETS, type SecretFinder } from './presets.js';

const PATTERNS_MAX = 50;
const MODES = ['mask', 'remove', 'hash'] as const;
const MASK = '***';
/** Digits of a hash: 128 bits. */
const HASH_LENGTH = 32;

/** Removes secrets from texts, numbers, arrays and objects (spec: pipelines 20.2). */
export const redact: ProcessorKind = {
  name: 'redact',
  build(options, slots, context) {
    const redaction = new Redaction(finders(options), replacement(options, context));
    if (options.fields().some(({ from, to }) => from !== to)) {
      throw buildError('Processor redact: fields are changed in place and cannot be renamed');
    }
    // A secret can be anywhere: without fields, all are searched.
    if (options.fields().length === 0) return allFields(redaction);
    return inFields(redaction, options, slots);
  },
  // An item that fails may have the secret in fields that are not yet split.
  conceal(options, context) {
    const redaction = new Redaction(finders(options), replacement(options, context));
    return (value) => redaction.value(value);
  },
};

function allFields(redaction: Redaction): Step {
  return (item) => {
    for (const slot of item.present()) redaction.apply(item, slot);
    return undefined;
  };
}

function inFields(redaction: Redaction, options: Options, slots: KeySlots): Step {
  return eachField('redact', options, slots, (item, { from }) => redaction.apply(item, from));
}

function finders(options: Options): SecretFinder[] {
  const presets = (options.texts('presets') ?? []).map((name) => {
    const finder = REDACT_PRESETS.get(name);
    if (finder !== undefined) return finder;
    throw buildError(`Processor redact: unknown preset "${name}": use one of ${[...REDACT_PRESETS.keys()].join(', ')}`);
  });
  const sources = options.texts('patterns') ?? [];
  if (sources.length > PATTERNS_MAX) throw buildError(`Processor redact: more than ${PATTERNS_MAX} patterns`);
  if (presets.length + sources.length === 0) throw buildError('Processor redact: missing field: presets or patterns');
  return [...presets, ...sources.map(patternFinder)];
}

function patternFinder(source: string): SecretFinder {
  const pattern = new Pattern(source);
  return (text, visit) => pattern.each(text, (match) => visit(match.start(), match.end()));
}

function replacement(options: Options, { resources }: BuildContext): (secret: string) => string {
  const mode = options.oneOf('mode', MODES, 'mask', (given) => {
    return `Processor redact: unknown mode "${given}": use one of ${MODES.join(', ')}`;
  });
  const name = options.text('key_ref');
  if (mode !== 'hash') return () => (mode === 'mask' ? MASK : '');
  if (name === undefined) throw buildError('Processor redact: mode hash needs key_ref');
  const key = resources.keys.get(name);
  if (key === undefined) {
    throw buildError(`Processor redact: key_ref "${name}" is no key of the configuration (pipelines.keys)`);
  }
  return (secret) => createHmac('sha256', key).update(secret).digest('hex').slice(0, HASH_LENGTH);
}

class Redaction {
  readonly #finders: readonly SecretFinder[];
  readonly #replace: (secret: string) => string;
  /** Ranges of the secrets of a text. */
  readonly #ranges: { readonly from: number; to: number }[] = [];

  constructor(found: readonly SecretFinder[], replace: (secret: string) => string) {
    this.#finders = found;
    this.#replace = replace;
  }

  /** Redacts a field. */
  apply(item: Item, slot: number): void {
    switch (item.kinds[slot]) {
      case Held.absent:
      case Held.null:
      case Held.boolean:
      case Held.timestamp:
        return;
      case Held.tree:
      case Held.json:
        return item.set(slot, this.value(item.get(slot) ?? null));
      default: {
        const text = item.isText(slot) ? item.text(slot) : printValue(item.get(slot) ?? null);
        const redacted = this.#text(text);
        if (redacted !== text) item.setText(slot, redacted);
      }
    }
  }

  /** Returns a value without its secrets. */
  value(value: PipelineValue): PipelineValue {
    if (isArray(value)) return value.map((element) => this.value(element));
    if (isObject(value)) {
      const redacted: ObjectValue = new Map();
      for (const [key, member] of value) redacted.set(this.#text(key), this.value(member));
      return redacted;
    }
    if (typeof value !== 'string' && typeof value !== 'bigint' && typeof value !== 'number') return value;
    const text = printValue(value);
    const redacted = this.#text(text);
    return redacted === text ? value : redacted;
  }

  #text(text: string): string {
    const ranges = this.#ranges;
    ranges.length = 0;
    for (const find of this.#finders) {
      find(text, (from, to) => {
        if (to > from) ranges.push({ from, to });
      });
    }
    if (ranges.length === 0) return text;
    ranges.sort((a, b) => a.from - b.from);
    let out = '';
    let at = 0;
    for (let i = 0; i < ranges.length;) {
      const { from } = ranges[i];
      let { to } = ranges[i++];
      // Secrets that overlap are one.
      for (; i < ranges.length && ranges[i].from < to; i++) to = Math.max(to, ranges[i].to);
      out += text.slice(at, from) + this.#replace(text.slice(from, to));
      at = to;
    }
    return out + text.slice(at);
  }
}

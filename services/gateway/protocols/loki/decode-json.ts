import { AlmanacError } from '#shared/errors/almanac-error';

import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '../common/json.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';
import type { LokiEntries } from './rows.js';

const INTEGER = /^-?[0-9]{1,19}$/;
const TIME_MAX = 2n ** 63n - 1n;
/** What an entry counts for at least when a slice of a body is measured. */
const ENTRY_BYTES = 100;

/** Decodes the JSON form of a push: `{"streams":[{"stream":{"app":"x"},"values":[["1700000000000000000","line"]]}]}`. */
export class LokiJsonDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #bytes: Buffer;
  readonly #rows: LokiEntries;
  #entries: Iterator<undefined> | undefined = undefined;

  constructor(bytes: Buffer, rows: LokiEntries) {
    this.#bytes = bytes;
    this.#rows = rows;
  }

  /** @throws `invalid_arguments` if the body is malformed. */
  decode(budgetBytes: number): boolean {
    this.#entries ??= this.#addAll(parseJson(this.#bytes, { bytesMax: Infinity }));
    for (let left = budgetBytes; left > 0; left -= ENTRY_BYTES) {
      if (this.#entries.next().done === true) return true;
    }
    return false;
  }

  *#addAll(body: JsonValue): Iterator<undefined> {
    const streams = isJsonObject(body) ? (body['streams'] ?? []) : undefined;
    if (!Array.isArray(streams)) throw malformed('"streams" must be a list');
    for (const stream of streams as readonly JsonValue[]) {
      if (!isJsonObject(stream)) throw malformed('a stream must be an object');
      const values = stream['values'] ?? [];
      if (!Array.isArray(values)) throw malformed('"values" must be a list');
      this.#rows.beginStreamOf(textsOf(stream['stream'] ?? {}, 'label'));
      for (const entry of values as readonly JsonValue[]) {
        this.#add(entry);
        yield undefined;
      }
    }
  }

  #add(entry: JsonValue): void {
    if (!Array.isArray(entry) || entry.length < 2) throw malformed('an entry must be a list of a timestamp and a line');
    const [time, line, metadata = {}] = entry as readonly JsonValue[];
    if (typeof time !== 'string' || !INTEGER.test(time)) throw malformed('a timestamp must be a text of nanoseconds');
    if (typeof line !== 'string') throw malformed('a line must be a text');
    const ns = BigInt(time);
    if (ns > TIME_MAX || ns < -TIME_MAX) throw malformed('timestamp is out of range');
    const object = textsOf(metadata, 'structured metadata');
    const json = object.size === 0 ? undefined : Buffer.from(JSON.stringify(Object.fromEntries(object)));
    this.#rows.addText(line, ns, json);
  }
}

function textsOf(value: JsonValue, what: string): Map<string, string> {
  if (!isJsonObject(value)) throw malformed(`${what} must be an object of texts`);
  const texts = new Map<string, string>();
  for (const [name, text] of Object.entries(value satisfies JsonObject)) {
    if (typeof text !== 'string') throw malformed(`${what} "${name.slice(0, 100)}" must be a text`);
    if (name === '') throw malformed(`${what} without a name`);
    texts.set(name, text);
  }
  return texts;
}

function malformed(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}

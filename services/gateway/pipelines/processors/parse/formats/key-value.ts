import { buildError } from '../../../build-error.js';
import type { Options } from '../../../options.js';
import { LOGFMT, eachKeyValue } from '../../../text/key-values.js';
import type { FormatReader, ParseFormat } from '../parse-format.js';

const DELIMITER_LENGTH_MAX = 32;

/** Key-value text as Go programs write it: `level=warn msg="a b"`. */
export const LOGFMT_LINE: ParseFormat = {
  name: 'logfmt',
  build: () => (text, fields) => {
    eachKeyValue(text, LOGFMT, (key, value) => fields.set(key, value));
    return fields.names.length > 0;
  },
};

/** Key-value text with other delimiters. */
export const KEY_VALUE: ParseFormat = {
  name: 'kv',
  build({ options }): FormatReader {
    const form = {
      fieldSplit: delimiter(options, 'field_split', ' '),
      valueSplit: delimiter(options, 'value_split', '='),
      acceptsLoneKeys: true,
    };
    const trim = trimmer(options);
    return (text, fields) => {
      eachKeyValue(text, form, (key, value) => {
        const name = trim(key);
        if (name !== '') fields.set(name, value === true ? value : trim(value));
      });
      return fields.names.length > 0;
    };
  },
};

function delimiter(options: Options, name: string, byDefault: string): string {
  const given = options.text(name) ?? byDefault;
  if (given.length > 0 && given.length <= DELIMITER_LENGTH_MAX) return given;
  throw buildError(`Processor parse: ${name} must have 1 to ${DELIMITER_LENGTH_MAX} characters`);
}

/** Returns how keys and values are trimmed: `trim` is true for spaces, or the characters to remove from both ends. */
function trimmer(options: Options): (text: string) => string {
  const given = options.value('trim') ?? false;
  if (given === true) return (text) => text.trim();
  if (given === false) return (text) => text;
  if (typeof given !== 'string') throw buildError('Field trim must be a boolean or a string');
  const removed = new Set(given);
  return (text) => {
    let from = 0;
    let to = text.length;
    while (from < to && removed.has(text[from])) from++;
    while (to > from && removed.has(text[to - 1])) to--;
    return text.slice(from, to);
  };
}

import { secretText } from '#shared/config/key';
import type { ConfigSection } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const KEY_LENGTH_MIN = 16;

/** Section of the configuration of pipelines. */
export const PIPELINES_SECTION = {
  name: 'pipelines',
  keys: {
    keys: secretText({
      check: parsePipelineKeys,
      allowed: `lines, or parts separated by commas, of the form "name = key"; a key has at least ${KEY_LENGTH_MIN} characters`,
      doc: 'Keys that pipelines name by `key_ref`, for hashes that no other process can compute. Best in a file of its own.',
    }),
  },
} as const satisfies ConfigSection;

/** Parses the keys of pipelines, by name. @throws `invalid_arguments` without any part of a key in its message. */
export function parsePipelineKeys(text: string): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const [i, entry] of text.split(/[\n,]/).entries()) {
    if (entry.trim() === '') continue;
    const equals = entry.indexOf('=');
    const name = entry.slice(0, Math.max(equals, 0)).trim();
    const key = entry.slice(equals + 1).trim();
    if (!NAME.test(name)) throw invalid(`entry ${i + 1} has no name of letters, digits, "_" and "-"`);
    if (key.length < KEY_LENGTH_MIN) throw invalid(`key "${name}" is shorter than ${KEY_LENGTH_MIN} characters`);
    if (keys.has(name)) throw invalid(`key "${name}" is listed twice`);
    keys.set(name, key);
  }
  return keys;
}

function invalid(text: string): Error {
  return new AlmanacError('invalid_arguments', text);
}

import { createHash, createHmac } from 'node:crypto';

import { buildError } from '../../build-error.js';
import type { Options } from '../../options.js';
import { kindOf, printValue } from '../../values/value.js';
import { fieldSlots, missingField, required, type BuildContext, type ProcessorKind } from '../processor.js';

/** A hash of what it is updated with. */
interface RunningHash {
  update(text: string): unknown;
  digest(encoding: 'hex'): string;
}

const METHODS = ['sha256', 'sha1', 'sha512', 'md5'] as const;

/** Stores a hash of fields, which is the same for items with equal values. */
export const fingerprint: ProcessorKind = {
  name: 'fingerprint',
  build(options, slots, context) {
    // The order in which the fields are listed does not matter.
    const fields = fieldSlots(options, slots).sort((a, b) => (a.key < b.key ? -1 : 1));
    required(fields[0], 'Processor fingerprint: missing field: fields');
    const target = slots.slotOf(options.text('target') ?? 'fingerprint');
    const newHash = hasher(options, context);
    const { ignoreMissing } = options;
    return (item) => {
      const hash = newHash();
      for (const { from, key } of fields) {
        if (!item.has(from) && !ignoreMissing) throw missingField('fingerprint', key, item);
        const value = item.get(from);
        const text = value === undefined ? 'absent' : `${kindOf(value)}:${printValue(value)}`;
        hash.update(`${key.length}:${key}${text.length}:${text}`);
      }
      item.setText(target, hash.digest('hex'));
      return undefined;
    };
  },
};

function hasher(options: Options, { resources }: BuildContext): () => RunningHash {
  const method = options.oneOf('method', METHODS, 'sha256', (given) => {
    return `Processor fingerprint: unknown method "${given}": use one of ${METHODS.join(', ')}`;
  });
  const name = options.text('key_ref');
  if (name === undefined) return () => createHash(method);
  const key = resources.keys.get(name);
  if (key !== undefined) return () => createHmac(method, key);
  throw buildError(`Processor fingerprint: key_ref "${name}" is no key of the configuration (pipelines.keys)`);
}

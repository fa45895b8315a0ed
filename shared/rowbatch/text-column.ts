import { dataType } from '#shared/schema/data-type';

import type { BytesColumn } from './column.js';

/**
 * Builds a column of text (or binary) values; undefined if no row has one. Values of tags with other types are given as
 * their canonical text.
 */
export function textColumn(
  { id, type }: { readonly id: number; readonly type: string },
  values: readonly (Uint8Array | undefined)[],
): BytesColumn | undefined {
  let length = 0;
  let nullCount = 0;
  for (const value of values) {
    if (value === undefined) nullCount++;
    else length += value.length;
  }
  if (nullCount === values.length) return undefined;
  const offsets = new Int32Array(values.length + 1);
  const bytes = new Uint8Array(length);
  const validity = nullCount === 0 ? undefined : new Uint8Array((values.length + 7) >> 3);
  let at = 0;
  for (const [row, value] of values.entries()) {
    if (value !== undefined) {
      bytes.set(value, at);
      at += value.length;
      if (validity !== undefined) validity[row >> 3] |= 1 << (row & 7);
    }
    offsets[row + 1] = at;
  }
  const stored = dataType(type).storage === 'binary' ? 'Binary' : 'String';
  return { kind: 'bytes', columnId: id, type: stored, nullCount, validity, offsets, bytes };
}

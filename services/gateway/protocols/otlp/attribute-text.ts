import { isUtf8Range } from '#shared/bytes/utf8';
import type { WireReader } from '#shared/protobuf/wire-reader';

import { notUtf8 } from '../common/json-writer.js';

/** Returns the text `[from, to)` of a message. @throws `invalid_arguments` if it is not UTF-8. */
export function attributeText({ bytes }: Pick<WireReader, 'bytes'>, from: number, to: number): string {
  if (!isUtf8Range(bytes, from, to)) throw notUtf8();
  return bytes.toString('utf8', from, to);
}

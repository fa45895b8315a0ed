import type { ProcessorKind } from '../processor.js';
import { append } from './append.js';
import { convert } from './convert.js';
import { fingerprint } from './fingerprint.js';
import { foreachElement } from './foreach.js';
import { removeFields } from './remove.js';
import { rename } from './rename.js';
import { setFieldValue } from './set.js';
import { split } from './split.js';
import { trimText } from './trim.js';
import { uriParts } from './uri-parts.js';

/** Processors that change fields in a simple way, without a script. */
export const PLAIN_PROCESSORS: readonly ProcessorKind[] = [
  append,
  convert,
  fingerprint,
  foreachElement,
  removeFields,
  rename,
  setFieldValue,
  split,
  trimText,
  uriParts,
];

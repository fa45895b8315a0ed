import { COERCIONS } from './coercions.js';
import { COLLECTION_FUNCTIONS } from './collection-functions.js';
import { KIND_FUNCTIONS } from './kind-functions.js';
import { PARSE_FUNCTIONS } from './parse-functions.js';
import type { ScriptFunction } from './script-function.js';
import { TEXT_FUNCTIONS } from './text-functions.js';
import { VALUE_FUNCTIONS } from './value-functions.js';

/** All functions by name, but `del` and `exists`, which take paths. */
export const SCRIPT_FUNCTIONS: ReadonlyMap<string, ScriptFunction> = new Map(
  [
    ...KIND_FUNCTIONS,
    ...COERCIONS,
    ...TEXT_FUNCTIONS,
    ...PARSE_FUNCTIONS,
    ...COLLECTION_FUNCTIONS,
    ...VALUE_FUNCTIONS,
  ].map((it) => [it.name, it]),
);

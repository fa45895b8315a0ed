import { cidr } from './enrich/cidr.js';
import { lookup } from './enrich/lookup.js';
import { cmcd } from './cmcd.js';
import { csv } from './csv.js';
import { date } from './date.js';
import { decolorize } from './decolorize.js';
import { dedupe } from './flow/dedupe.js';
import { sample } from './flow/sample.js';
import { throttle } from './flow/throttle.js';
import { digest } from './digest.js';
import { dissect } from './dissect.js';
import { epoch } from './epoch.js';
import { filter } from './filter.js';
import { grok } from './grok/grok.js';
import { gsub } from './gsub.js';
import { join } from './join.js';
import { jsonParse } from './json-parse.js';
import { jsonPath } from './json-path.js';
import { letter } from './letter.js';
import { parse } from './parse/parse.js';
import { PLAIN_PROCESSORS } from './plain/index.js';
import type { ProcessorKind } from './processor.js';
import { redact } from './redact/redact.js';
import { regex } from './regex.js';
import { selectFields } from './select.js';
import { simpleExtract } from './simple-extract.js';
import { urlencoding } from './urlencoding.js';
import { vrl } from './vrl.js';

/** All kinds of processors. */
export const PROCESSORS: readonly ProcessorKind[] = [
  cidr,
  cmcd,
  csv,
  date,
  decolorize,
  dedupe,
  digest,
  dissect,
  epoch,
  filter,
  grok,
  gsub,
  join,
  jsonParse,
  jsonPath,
  letter,
  lookup,
  parse,
  redact,
  regex,
  sample,
  selectFields,
  simpleExtract,
  throttle,
  urlencoding,
  vrl,
  ...PLAIN_PROCESSORS,
];

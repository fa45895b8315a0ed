import { AlmanacError } from '#shared/errors/almanac-error';

import { inPath, LIMIT_PARAMETER } from '../../openapi/parameters.js';
import { listOf, TEXT } from '../../openapi/schemas.js';
import { limitParameter, windowParameters } from '../prom-parameters.js';
import { PROM_MATCHES, PROM_WINDOW, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Returns the names of labels. */
export const labels: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/labels',
  doc: promDoc({
    summary: 'Returns the names of labels',
    parameters: [PROM_MATCHES, ...PROM_WINDOW, LIMIT_PARAMETER],
    data: listOf(TEXT),
  }),
  run({ form, database, call }, { querier }) {
    const limit = limitParameter(form);
    const request = { kind: 'labels', database, name: '', limit, ...windowParameters(form) };
    return { texts: querier.promSeries({ ...request, matches: form.values('match[]') }, call) };
  },
};

/** Returns the values of one label. */
export const labelValues: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/label/:name/values',
  doc: promDoc({
    summary: 'Returns the values of a label',
    parameters: [inPath('name', 'Name of the label.'), PROM_MATCHES, ...PROM_WINDOW, LIMIT_PARAMETER],
    data: listOf(TEXT),
    example: { parameters: { name: '__name__' } },
  }),
  run({ form, database, path, call }, { querier }) {
    const name = unescaped(nameIn(path));
    if (name === '') throw new AlmanacError('invalid_arguments', `invalid label name: ${JSON.stringify(name)}`);
    const limit = limitParameter(form);
    const request = { kind: 'label_values', database, name, limit, ...windowParameters(form) };
    return { texts: querier.promSeries({ ...request, matches: form.values('match[]') }, call) };
  },
};

/** Returns the name in a path; the router has checked that it can be decoded. */
function nameIn(path: string): string {
  return decodeURIComponent(/\/label\/([^/]*)\/values\/?$/.exec(path)?.[1] ?? '');
}

const ESCAPED = /^U__(?:[^_]|__|_[0-9A-Fa-f]{1,6}_)*$/;
const CODE_POINT_MAX = 0x10ffff;

/** Decodes a name in which `_HEX_` replaces other characters than letters and digits, and `__` replaces `_`. */
function unescaped(name: string): string {
  if (!ESCAPED.test(name)) return name;
  let isValid = true;
  const plain = name.slice(3).replace(/__|_([0-9A-Fa-f]{1,6})_/g, (_match, hex: string | undefined) => {
    if (hex === undefined) return '_';
    const code = Number.parseInt(hex, 16);
    const isCharacter = code <= CODE_POINT_MAX && !(code >= 0xd800 && code <= 0xdfff);
    isValid &&= isCharacter;
    return isCharacter ? String.fromCodePoint(code) : '';
  });
  return isValid ? plain : name;
}

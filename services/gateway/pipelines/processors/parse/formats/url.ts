import { eachQueryParameter, splitUri } from '../../../text/uri.js';
import type { ObjectValue } from '../../../values/value.js';
import type { FormatReader, ParseFormat } from '../parse-format.js';

/** The parts of a URL; its query becomes an object. */
export const URL_PARTS: ParseFormat = {
  name: 'url',
  build: (): FormatReader => (text, fields) => {
    const parts = splitUri(text);
    if (parts === undefined) return false;
    const { scheme, username, password, host, port, path, query, fragment } = parts;
    fields.setKnown('scheme', scheme);
    fields.setKnown('username', username);
    fields.setKnown('password', password);
    fields.setKnown('host', host);
    fields.setKnown('port', port);
    fields.set('path', path);
    if (query !== undefined) {
      const parameters: ObjectValue = new Map();
      eachQueryParameter(query, (name, value) => parameters.set(name, value));
      fields.set('query', parameters);
    }
    fields.setKnown('fragment', fragment);
    return true;
  },
};

/** The parameters of a query such as `a=1&b=2`. */
export const QUERY: ParseFormat = {
  name: 'query',
  build: (): FormatReader => (text, fields) => {
    const query = text.startsWith('?') ? text.slice(1) : text;
    eachQueryParameter(query, (name, value) => {
      if (name !== '') fields.set(name, value);
    });
    return true;
  },
};

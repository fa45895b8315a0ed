import { itemError } from '../../build-error.js';
import { splitUri, type UriParts } from '../../text/uri.js';
import { shortened, type ObjectValue } from '../../values/value.js';
import { eachText, type ProcessorKind } from '../processor.js';

/** Splits a URI to an object of its parts. */
export const uriParts: ProcessorKind = {
  name: 'uri_parts',
  build(options, slots) {
    const target = slots.slotOf(options.text('target') ?? 'url');
    const keepsOriginal = options.flag('keep_original', true);
    const removes = options.flag('remove_if_successful', false);
    return eachText('uri_parts', options, slots, (item, { from, to, key }) => {
      const text = item.text(from);
      const parts = splitUri(text);
      if (parts === undefined) throw itemError(`Processor uri_parts: "${key}" is no URI: ${shortened(text)}`);
      const object = objectOfParts(parts);
      if (keepsOriginal) object.set('original', text);
      if (removes) item.remove(from);
      item.set(to === from ? target : to, object);
    });
  },
};

function objectOfParts({ scheme, host, port, path, query, fragment, username, password }: UriParts): ObjectValue {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  const userInfo = username === undefined ? undefined : [username, ...(password === undefined ? [] : [password])];
  const parts = {
    scheme,
    domain: host,
    port,
    path,
    extension: dot > 0 ? name.slice(dot + 1) : undefined,
    query,
    fragment,
    user_info: userInfo?.join(':'),
    username,
    password,
  };
  const object: ObjectValue = new Map();
  for (const [key, value] of Object.entries(parts)) if (value !== undefined && value !== '') object.set(key, value);
  return object;
}

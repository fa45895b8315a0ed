import { TimeReader } from '../../../date/time-reader.js';
import { integerOfText, TextCursor } from '../../../text/text-cursor.js';
import type { FormatReader, ParsedFields, ParseFormat } from '../parse-format.js';

/** `%d/%b/%Y:%H:%M:%S %z`, as both servers write times. */
const ACCESS_TIME = new TimeReader(['%d/%b/%Y:%H:%M:%S %z']);
const ERROR_TIMES = ['%a %b %e %H:%M:%S%.f %Y', '%a %b %e %H:%M:%S %Y'];

/** Access logs of nginx in its format `combined`, which a text in quotes may follow. */
export const NGINX_ACCESS: ParseFormat = {
  name: 'nginx_access',
  build: () => {
    const cursor = new TextCursor();
    return (text, fields) => {
      cursor.start(text);
      return readHead(cursor, fields, false) && readTail(cursor, fields, true);
    };
  },
};

/** Logs of Apache: `common`, `combined`, and its error log. */
export const APACHE: ParseFormat = {
  name: 'apache',
  build: ({ timezone }): FormatReader => {
    const cursor = new TextCursor();
    const errorTime = new TimeReader(ERROR_TIMES, timezone);
    return (text, fields) => {
      cursor.start(text);
      if (text.startsWith('[')) return readError(cursor, fields, errorTime);
      return readHead(cursor, fields, true) && readTail(cursor, fields, false);
    };
  },
};

/** Reads `client identity user [time] "request" status size`. */
function readHead(cursor: TextCursor, fields: ParsedFields, hasIdentity: boolean): boolean {
  const client = cursor.until(' ');
  const identity = cursor.until(' ');
  // The name of a user may have spaces.
  const user = cursor.until(' [');
  const time = cursor.until('] ');
  if (client === undefined || identity === undefined || user === undefined || time === undefined) return false;
  const timestamp = ACCESS_TIME.read(time);
  const request = cursor.quoted();
  if (timestamp === undefined || request === undefined || !cursor.skips(' ')) return false;
  fields.setKnown('client', client);
  if (hasIdentity) fields.setKnown('identity', identity);
  fields.setKnown('user', user);
  fields.set('timestamp', timestamp);
  setRequestLine(unescapedQuotes(request), fields);
  const [status, size] = [cursor.word(), cursor.word()];
  fields.setKnown('status', integerOfText(status));
  fields.setKnown('size', integerOfText(size));
  return isCount(status) && isCount(size);
}

function isCount(text: string): boolean {
  return text === '-' || integerOfText(text) !== undefined;
}

/** Reads `"referer" "agent"`, and for nginx the client that a proxy reports. Common logs of Apache end before. */
function readTail(cursor: TextCursor, fields: ParsedFields, isNginx: boolean): boolean {
  if (cursor.isAtEnd) return !isNginx;
  const referer = cursor.quoted();
  const agent = cursor.skips(' ') ? cursor.quoted() : undefined;
  if (referer === undefined || agent === undefined) return false;
  fields.setKnown('referer', unescapedQuotes(referer));
  fields.setKnown('agent', unescapedQuotes(agent));
  if (isNginx && cursor.skips(' ')) fields.setKnown('forwarded', cursor.quoted());
  return true;
}

/** Sets the request line and its parts; a malformed one has none. */
export function setRequestLine(request: string, fields: ParsedFields): void {
  fields.setKnown('request', request);
  const first = request.indexOf(' ');
  const last = request.lastIndexOf(' ');
  if (first <= 0 || !request.startsWith('HTTP/', last + 1)) return;
  fields.set('method', request.slice(0, first));
  if (last > first) fields.set('path', request.slice(first + 1, last));
  fields.set('protocol', request.slice(last + 1));
}

function unescapedQuotes(text: string): string {
  return text.includes('\\') ? text.replace(/\\(["\\])/g, '$1') : text;
}

/** Reads `[time] [module:severity] [pid 1:tid 2] [client 1.2.3.4:80] message`. */
function readError(cursor: TextCursor, fields: ParsedFields, times: TimeReader): boolean {
  cursor.skips('[');
  const time = cursor.until('] [');
  const level = cursor.until('] ');
  const timestamp = time === undefined ? undefined : times.read(time);
  if (timestamp === undefined || level === undefined) return false;
  fields.set('timestamp', timestamp);
  const colon = level.indexOf(':');
  fields.setKnown('module', level.slice(0, Math.max(colon, 0)));
  fields.set('severity', level.slice(colon + 1));
  if (cursor.skips('[pid ')) {
    const [pid, thread] = (cursor.until('] ') ?? '').split(':tid ');
    fields.setKnown('pid', integerOfText(pid));
    fields.setKnown('thread', integerOfText(thread));
  }
  if (cursor.skips('[client ')) readClient(cursor.until('] ') ?? '', fields);
  fields.set('message', cursor.rest());
  return true;
}

function readClient(text: string, fields: ParsedFields): void {
  const colon = text.lastIndexOf(':');
  const port = colon < 0 ? undefined : integerOfText(text.slice(colon + 1));
  const hasPort = port !== undefined && text.indexOf(':') === colon;
  fields.setKnown('client', hasPort ? text.slice(0, colon) : text);
  if (hasPort) fields.set('port', port);
}

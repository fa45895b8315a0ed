import { TimeReader } from '../../../date/time-reader.js';
import { integerOfText, TextCursor } from '../../../text/text-cursor.js';
import type { FormatReader, ParsedFields, ParseFormat } from '../parse-format.js';
import { setRequestLine } from './access-log.js';

/** What nginx appends to messages, such as `, client: 10.0.0.7`. */
const DETAILS = ['client', 'server', 'request', 'subrequest', 'upstream', 'host', 'referrer'];

/** The error log of nginx. */
export const NGINX_ERROR: ParseFormat = {
  name: 'nginx_error',
  build: ({ timezone }): FormatReader => {
    const times = new TimeReader(['%Y/%m/%d %H:%M:%S'], timezone);
    const cursor = new TextCursor();
    return (text, fields) => {
      cursor.start(text);
      const time = cursor.until(' [');
      const severity = cursor.until('] ');
      const ids = cursor.until(': ');
      const timestamp = time === undefined ? undefined : times.read(time);
      const [pid, thread] = (ids ?? '').split('#').map(integerOfText);
      if (timestamp === undefined || severity === undefined || pid === undefined) return false;
      fields.set('timestamp', timestamp);
      fields.set('severity', severity);
      fields.set('pid', pid);
      fields.setKnown('thread', thread);
      if (cursor.skips('*')) fields.setKnown('connection', integerOfText(cursor.word()));
      readMessage(cursor.rest(), fields);
      return true;
    };
  },
};

function readMessage(text: string, fields: ParsedFields): void {
  const start = text.indexOf(', client: ');
  fields.set('message', start < 0 ? text : text.slice(0, start));
  let at = start < 0 ? text.length : start;
  while (at < text.length) {
    const name = DETAILS.find((it) => text.startsWith(`, ${it}: `, at));
    if (name === undefined) return;
    const from = at + name.length + 4;
    const end = text[from] === '"' ? text.indexOf('"', from + 1) + 1 : text.indexOf(', ', from);
    at = end <= 0 ? text.length : end;
    setDetail(name, text.slice(from, at), fields);
  }
}

function setDetail(name: string, text: string, fields: ParsedFields): void {
  const value = text.startsWith('"') ? text.slice(1, text.endsWith('"') ? -1 : undefined) : text;
  if (name === 'request') setRequestLine(value, fields);
  else fields.setKnown(name, value);
}

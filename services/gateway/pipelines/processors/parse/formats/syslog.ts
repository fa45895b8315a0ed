import { TimeReader, YearlessTimeReader } from '../../../date/time-reader.js';
import { TextCursor } from '../../../text/text-cursor.js';
import type { Timestamp } from '../../../values/timestamp.js';
import type { ObjectValue } from '../../../values/value.js';
import type { FormatReader, ParsedFields, ParseFormat } from '../parse-format.js';
import { RFC3339_FORMATS } from './container-log.js';

const FACILITIES =
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp security console solaris-cron ' +
  'local0 local1 local2 local3 local4 local5 local6 local7';
const FACILITY_NAMES = FACILITIES.split(' ');
const SEVERITY_NAMES = 'emerg alert crit err warning notice info debug'.split(' ');
const PRIORITY = /^<(\d{1,3})>/;
const PRIORITY_MAX = 191;
/** `Mar  1 10:00:00`, and with a year as some routers write it. */
const BSD_TIME = /^[A-Z][a-z]{2} [ \d]?\d (?:\d{4} )?\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?/;
const BYTE_ORDER_MARK = '\ufeff';

/** Syslog messages: RFC 5424, and the older RFC 3164 with what files and routers make of it. */
export const SYSLOG: ParseFormat = {
  name: 'syslog',
  build: ({ timezone, nowNs }): FormatReader => {
    const reader = new SyslogReader(timezone, nowNs);
    return (text, fields) => reader.read(text, fields);
  },
};

class SyslogReader {
  readonly #cursor = new TextCursor();
  readonly #rfc3339: TimeReader;
  readonly #withYear: TimeReader;
  readonly #withoutYear: YearlessTimeReader;

  constructor(timezone: string, nowNs: () => bigint) {
    this.#rfc3339 = new TimeReader(RFC3339_FORMATS, timezone);
    this.#withYear = new TimeReader(['%b %e %Y %H:%M:%S%.f'], timezone);
    this.#withoutYear = new YearlessTimeReader(['%b %e %H:%M:%S%.f'], timezone, nowNs);
  }

  read(text: string, fields: ParsedFields): boolean {
    const cursor = this.#cursor;
    cursor.start(text);
    const priority = PRIORITY.exec(text);
    if (priority !== null) {
      const value = Number(priority[1]);
      if (value > PRIORITY_MAX) return false;
      fields.set('facility', FACILITY_NAMES[value >> 3]);
      fields.set('severity', SEVERITY_NAMES[value & 7]);
      cursor.at = priority[0].length;
      if (cursor.skips('1 ')) return this.#rfc5424(fields);
    }
    return this.#rfc3164(fields);
  }

  #rfc5424(fields: ParsedFields): boolean {
    const cursor = this.#cursor;
    fields.set('version', 1n);
    const time = cursor.word();
    const timestamp = time === '-' ? undefined : this.#rfc3339.read(time);
    if (time !== '-' && timestamp === undefined) return false;
    fields.setKnown('timestamp', timestamp);
    for (const name of ['hostname', 'appname', 'procid', 'msgid']) fields.setKnown(name, cursor.word());
    if (!cursor.skips('-') && !this.#structuredData(fields)) return false;
    if (!cursor.isAtEnd && !cursor.skips(' ')) return false;
    const message = cursor.rest();
    fields.set('message', message.startsWith(BYTE_ORDER_MARK) ? message.slice(1) : message);
    return true;
  }

  /** Reads `[id name="value" ...]`, once or more, to an object of objects. */
  #structuredData(fields: ParsedFields): boolean {
    const cursor = this.#cursor;
    const elements: ObjectValue = new Map();
    while (cursor.skips('[')) {
      const id = /[^\s\]="]{1,256}/y;
      id.lastIndex = cursor.at;
      const name = id.exec(cursor.text)?.[0];
      if (name === undefined) return false;
      cursor.at += name.length;
      const element: ObjectValue = new Map();
      while (cursor.skips(' ')) {
        if (cursor.text[cursor.at] === ']') break;
        const key = cursor.until('=');
        const value = key === undefined ? undefined : cursor.quoted();
        if (key === undefined || value === undefined) return false;
        element.set(key, value.includes('\\') ? value.replace(/\\(["\\\]])/g, '$1') : value);
      }
      if (!cursor.skips(']')) return false;
      elements.set(name, element);
    }
    if (elements.size === 0) return false;
    fields.set('structured_data', elements);
    return true;
  }

  #rfc3164(fields: ParsedFields): boolean {
    const cursor = this.#cursor;
    const timestamp = this.#time();
    if (timestamp === undefined) return false;
    fields.set('timestamp', timestamp);
    const hostAt = cursor.at;
    const host = cursor.word();
    // A name that ends with a colon is the program: the host is absent.
    if (host.endsWith(':')) cursor.at = hostAt;
    else fields.setKnown('hostname', host);
    readTag(cursor, fields);
    fields.set('message', cursor.rest());
    return true;
  }

  #time(): Timestamp | undefined {
    const cursor = this.#cursor;
    const bsd = BSD_TIME.exec(cursor.text.slice(cursor.at, cursor.at + 40))?.[0];
    if (bsd === undefined) return this.#rfc3339.read(cursor.word());
    cursor.at += bsd.length;
    if (!cursor.skips(': ') && !cursor.skips(' ')) return undefined;
    return (/ \d{4} /.test(bsd) ? this.#withYear : this.#withoutYear).read(bsd);
  }
}

const TAG = /([^\s:[]{1,128})(?:\[([^\]\s]{1,64})\])?:(?: |$)/y;

/** Reads `program[pid]: `; a message may lack it. */
function readTag(cursor: TextCursor, fields: ParsedFields): void {
  TAG.lastIndex = cursor.at;
  const tag = TAG.exec(cursor.text);
  if (tag === null) return;
  const [all, program, pid] = tag as unknown as readonly [string, string, string | undefined];
  cursor.at += all.length;
  fields.set('appname', program);
  fields.setKnown('procid', pid);
}

import { TimeReader, YearlessTimeReader } from '../../../date/time-reader.js';
import { parseTree } from '../../../values/parse-tree.js';
import { isObject, type PipelineValue } from '../../../values/value.js';
import { integerOfText, TextCursor } from '../../../text/text-cursor.js';
import type { FormatReader, ParseFormat } from '../parse-format.js';

/** Formats of RFC 3339. */
export const RFC3339_FORMATS: readonly string[] = ['%Y-%m-%dT%H:%M:%S%.f%#z', '%Y-%m-%d %H:%M:%S%.f%#z'];
const RFC3339 = new TimeReader(RFC3339_FORMATS);

/** Log lines of container runtimes with the interface of Kubernetes: `2024-03-01T10:00:00.1Z stdout F message`. */
export const CRI: ParseFormat = {
  name: 'cri',
  build: () => {
    const cursor = new TextCursor();
    return (text, fields) => {
      cursor.start(text);
      const timestamp = RFC3339.read(cursor.until(' ') ?? '');
      const stream = cursor.until(' ');
      const tags = cursor.word();
      if (timestamp === undefined || (stream !== 'stdout' && stream !== 'stderr')) return false;
      if (!/^[FP](?::|$)/.test(tags)) return false;
      fields.set('timestamp', timestamp);
      fields.set('stream', stream);
      // The runtime splits long lines: all parts but the last are partial.
      fields.set('is_partial', tags.startsWith('P'));
      fields.set('message', cursor.rest());
      return true;
    };
  },
};

/** Log lines of Docker's driver `json-file`. */
export const DOCKER: ParseFormat = {
  name: 'docker',
  build: () => (text, fields) => {
    const line = jsonObject(text);
    const [log, stream, time, attributes] = ['log', 'stream', 'time', 'attrs'].map((key) => line?.get(key));
    const timestamp = typeof time === 'string' ? RFC3339.read(time) : undefined;
    if (typeof log !== 'string' || timestamp === undefined) return false;
    fields.set('timestamp', timestamp);
    if (typeof stream === 'string') fields.set('stream', stream);
    fields.set('is_partial', !log.endsWith('\n'));
    fields.set('message', log.replace(/\r?\n$/, ''));
    if (isObject(attributes)) fields.set('attrs', attributes);
    return true;
  },
};

function jsonObject(text: string): ReadonlyMap<string, PipelineValue> | undefined {
  try {
    const value = parseTree(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const KLOG_LEVELS: Readonly<Record<string, string>> = { I: 'info', W: 'warning', E: 'error', F: 'fatal' };

/** Log lines of Kubernetes: `I0301 10:00:00.123456   42 main.go:17] message`. */
export const KLOG: ParseFormat = {
  name: 'klog',
  build: ({ timezone, nowNs }): FormatReader => {
    const times = new YearlessTimeReader(['%m%d %H:%M:%S%.f'], timezone, nowNs);
    const cursor = new TextCursor();
    return (text, fields) => {
      cursor.start(text);
      const level = KLOG_LEVELS[text.charAt(0)];
      cursor.at = 1;
      const timestamp = times.read(`${cursor.word()} ${cursor.word()}`);
      cursor.skipSpaces();
      const thread = integerOfText(cursor.until(' '));
      const source = cursor.until('] ') ?? '';
      const colon = source.lastIndexOf(':');
      const line = integerOfText(source.slice(colon + 1));
      if (level === undefined || timestamp === undefined || thread === undefined || line === undefined) return false;
      fields.set('level', level);
      fields.set('timestamp', timestamp);
      fields.set('thread', thread);
      fields.set('file', source.slice(0, Math.max(colon, 0)));
      fields.set('line', line);
      fields.set('message', cursor.rest());
      return true;
    };
  },
};

const LENGTH_MAX = 100_000;
const FIELDS_MAX = 200;
const DEPTH_MAX = 5;
const PAIR = /(?:^|\s)([\p{L}_@][\p{L}\p{N}_.@/-]*)=(?:"((?:[^"\\]|\\.)*)"|(\S*))/gu;

/** Returns the fields of a line with JSON or logfmt, members of objects as `a.b`; undefined if it has neither. */
export function structuredFields(line: string): ReadonlyMap<string, string> | undefined {
  if (line.length > LENGTH_MAX) return undefined;
  const fields = jsonFields(line) ?? logfmtFields(line);
  return fields.size === 0 ? undefined : fields;
}

function jsonFields(line: string): Map<string, string> | undefined {
  const start = line.indexOf('{');
  // A prefix, such as a time, may come before the object.
  if (start < 0 || start > 100 || !line.trimEnd().endsWith('}')) return undefined;
  try {
    const fields = new Map<string, string>();
    addMembers(fields, '', JSON.parse(line.slice(start)), 0);
    return fields;
  } catch {
    return undefined;
  }
}

function addMembers(fields: Map<string, string>, prefix: string, value: unknown, depth: number): void {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && depth < DEPTH_MAX && Object.keys(value).length > 0) {
    for (const [name, member] of Object.entries(value)) {
      addMembers(fields, prefix === '' ? name : `${prefix}.${name}`, member, depth + 1);
    }
  } else if (prefix !== '' && fields.size < FIELDS_MAX) {
    fields.set(prefix, typeof value === 'string' ? value : JSON.stringify(value));
  }
}

function logfmtFields(line: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [, name, quoted, plain] of line.matchAll(PAIR)) {
    if (fields.size === FIELDS_MAX) break;
    fields.set(name, quoted?.replace(/\\(["\\])/g, '$1') ?? plain);
  }
  // One pair may be chance, such as an address with a query string.
  return fields.size < 2 ? new Map<string, string>() : fields;
}

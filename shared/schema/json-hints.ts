/** What a path of a JSON2 column holds. */
export interface JsonHint {
  readonly path: readonly string[];
  /** Native name of the type. */
  readonly type: string;
  /** SQL name of the type. */
  readonly sqlType: string;
  readonly nullable: boolean;
  /** Value where the path is missing. */
  readonly fallback: string | boolean | null;
}

const PREFIX = 'Json2(';

/** Returns whether a native type is JSON2, with hints or without. */
export function isJson2(type: string): boolean {
  return type === 'Json2' || type.startsWith(PREFIX);
}

/** Returns the native name of a JSON2 type: its hints are part of it. */
export function json2Name(hints: readonly JsonHint[]): string {
  return hints.length === 0 ? 'Json2' : `${PREFIX}${JSON.stringify(hints)})`;
}

/** Returns the hints of a native type. */
export function jsonHints(type: string): readonly JsonHint[] {
  return type.startsWith(PREFIX) ? (JSON.parse(type.slice(PREFIX.length, -1)) as JsonHint[]) : [];
}

/** Returns the name of a native type without hints, as results and descriptions show it. */
export function shownTypeName(type: string): string {
  return type.startsWith(PREFIX) ? 'Json2' : type;
}

function quoted(text: string, mark: string): string {
  return `${mark}${text.replaceAll(mark, mark + mark)}${mark}`;
}

/** Returns the type as SHOW CREATE TABLE prints it. */
export function json2Sql(hints: readonly JsonHint[]): string {
  const lines = hints.map(({ path, type, sqlType, nullable, fallback }) => {
    const text = type === 'String' ? quoted(String(fallback), "'") : String(fallback);
    return `    ${path.map((part) => quoted(part, '"')).join('.')} ${sqlType} ${nullable ? 'NULL' : 'NOT NULL'}${fallback === null ? '' : ` DEFAULT ${text}`}`;
  });
  return lines.length === 0 ? 'JSON2' : `JSON2(\n${lines.join(',\n')}\n  )`;
}

/** A number as written in the result, so that 64-bit integers keep all digits and doubles their point. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value of a result. */
export type ResultCell = null | boolean | string | NumberText | readonly unknown[] | Readonly<Record<string, unknown>>;

/** Result of one statement. */
export type StatementAnswer =
  | { readonly kind: 'rows'; readonly columns: readonly string[]; readonly rows: readonly (readonly ResultCell[])[] }
  | { readonly kind: 'affected'; readonly rowCount: number };

interface Body {
  readonly output?: readonly {
    readonly affectedrows?: unknown;
    readonly records?: {
      readonly schema: { readonly column_schemas: readonly { readonly name: string }[] };
      readonly rows: readonly (readonly ResultCell[])[];
    };
  }[];
}

/** A string, or a number outside a string. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Never the first character of a string in JSON: control characters are escaped there. */
const NUMBER_MARK = '\u0001';

/** Parses a reply of `/v1/sql` in its default format. */
export function readAnswer(body: string): StatementAnswer[] {
  const marked = body.replace(STRING_OR_NUMBER, (token) => {
    return token.startsWith('"') ? token : JSON.stringify(NUMBER_MARK + token);
  });
  const parsed = JSON.parse(marked, (_key, value: unknown) => {
    return typeof value === 'string' && value.startsWith(NUMBER_MARK) ? new NumberText(value.slice(1)) : value;
  }) as Body;
  return (parsed.output ?? []).map(({ records, affectedrows }) => {
    if (records === undefined) return { kind: 'affected', rowCount: Number((affectedrows as NumberText).text) };
    return { kind: 'rows', columns: records.schema.column_schemas.map(({ name }) => name), rows: records.rows };
  });
}

/** Prints a cell as JSON, with numbers as received. */
export function jsonText(cell: unknown): string {
  if (cell instanceof NumberText) return cell.text;
  if (Array.isArray(cell)) return `[${cell.map(jsonText).join(',')}]`;
  if (typeof cell === 'object' && cell !== null) {
    return `{${Object.entries(cell)
      .map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`)
      .join(',')}}`;
  }
  return JSON.stringify(cell);
}

/** Prints a cell for people: no quotes around text, nothing for null. */
export function plainText(cell: ResultCell): string {
  if (cell === null) return '';
  return typeof cell === 'string' ? cell : jsonText(cell);
}

import Papa from 'papaparse';

/** How a file is to be read. */
export interface CsvFormat {
  readonly delimiter: string;
  /** What ends a row. */
  readonly newline: '\n' | '\r\n' | '\r';
  /** A label of the Encoding Standard, such as `utf-8`. */
  readonly encoding: string;
}

/** Rows of a file, blank ones among them, and how far it has been read. */
export interface CsvRows {
  readonly rows: readonly (readonly string[])[];
  readonly readBytes: number;
}

const PREVIEW_BYTES = 256 * 1024;
/** Texts are parsed in chunks of this many characters. */
const CHUNK_LENGTH = 512 * 1024;
/** A longer row means that a quotation mark is missing. */
const ROW_LENGTH_MAX = 16 * 1024 * 1024;

/** The first rows of a file, and how it is to be read. */
export interface CsvPreview extends CsvFormat {
  readonly rows: readonly (readonly string[])[];
}

/**
 * Reads the first rows of a file that are not blank.
 *
 * @param delimiter found out if it is ''.
 */
export async function previewCsv(
  file: Blob,
  encoding: string,
  delimiter: string,
  rowsMax: number,
): Promise<CsvPreview> {
  const decoder = new TextDecoder(encoding);
  const text = decoder.decode(await file.slice(0, PREVIEW_BYTES).arrayBuffer(), { stream: file.size > PREVIEW_BYTES });
  const { data, meta } = Papa.parse<string[]>(text, {
    delimiter,
    preview: rowsMax + 1,
    // A blank line would count as a row with one value when the delimiter is detected.
    skipEmptyLines: true,
  });
  // The last row may be cut.
  const whole = file.size > PREVIEW_BYTES && data.length <= rowsMax ? data.slice(0, -1) : data;
  const rows = whole.filter((row) => !isBlankRow(row)).slice(0, rowsMax);
  return { rows, encoding, delimiter: meta.delimiter, newline: newlineOf(meta.linebreak) };
}

/** Reads all rows of a file, in chunks; the next one is read when the caller wants it. */
export async function* readCsv(file: Blob, { delimiter, newline, encoding }: CsvFormat): AsyncGenerator<CsvRows> {
  const reader = file.stream().getReader();
  const decoder = new TextDecoder(encoding);
  let readBytes = 0;
  let text = '';
  try {
    for (let isEnd = false; !isEnd;) {
      const lengthMin = text.length + CHUNK_LENGTH;
      while (text.length < lengthMin && !isEnd) {
        const next = await reader.read();
        isEnd = next.done;
        readBytes += next.value?.length ?? 0;
        text += next.done ? decoder.decode() : decoder.decode(next.value, { stream: true });
      }
      const { data, meta } = new Papa.Parser({ delimiter, newline }).parse(text, 0, !isEnd) as {
        readonly data: string[][];
        readonly meta: { readonly cursor: number };
      };
      text = isEnd ? '' : text.slice(meta.cursor);
      if (text.length > ROW_LENGTH_MAX) {
        throw new RangeError('A row has more than 16 MiB: is a closing quotation mark missing?');
      }
      yield { rows: data, readBytes };
    }
  } finally {
    await reader.cancel();
  }
}

/** Whether a row is an empty line. */
export function isBlankRow(row: readonly string[]): boolean {
  return row.length === 0 || (row.length === 1 && row[0].trim() === '');
}

function newlineOf(text: string): CsvFormat['newline'] {
  return text === '\r\n' || text === '\r' ? text : '\n';
}

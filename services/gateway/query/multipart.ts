import { AlmanacError } from '#shared/errors/almanac-error';

const LINE_END = '\r\n';
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
const DISPOSITION = /^content-disposition:\s*form-data\s*;(.*)$/im;
const NAME = /(?:^|;)\s*name="([^"]*)"/i;

/**
 * Returns the fields of a form with their contents. Bodies are in memory already.
 *
 * @throws `invalid_arguments` if the body is not a complete form.
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */
export function multipartFields(contentType: string, body: Buffer): [name: string, content: Buffer][] {
  const [, quoted, plain = quoted] = BOUNDARY.exec(contentType) ?? [];
  if (plain === undefined) throw malformed();
  const delimiter = `${LINE_END}--${plain}`;
  // The first delimiter may be at the start of the body, without a line break.
  const text = Buffer.concat([Buffer.from(LINE_END), body]);
  const fields: [string, Buffer][] = [];
  let at = text.indexOf(delimiter);
  while (at >= 0) {
    const headerFrom = at + delimiter.length;
    if (text.toString('latin1', headerFrom, headerFrom + 2) === '--') return fields;
    const next = text.indexOf(delimiter, headerFrom);
    const head = text.indexOf(LINE_END, headerFrom);
    const headEnd = text.indexOf(LINE_END + LINE_END, headerFrom);
    if (next < 0 || head < 0 || headEnd < 0 || headEnd > next) break;
    const name = fieldName(text.toString('utf8', head, headEnd));
    if (name !== undefined) fields.push([name, text.subarray(headEnd + 2 * LINE_END.length, next)]);
    at = next;
  }
  throw malformed();
}

/** Returns the name of a field; undefined for another part. */
function fieldName(head: string): string | undefined {
  return NAME.exec(DISPOSITION.exec(head)?.[1] ?? '')?.[1];
}

function malformed(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'error parsing form values: body is not a whole multipart form');
}

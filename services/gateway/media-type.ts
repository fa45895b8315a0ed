let lastHeader = '';
let lastType = '';

/** Returns the media type of a `Content-Type` header in lower case, without parameters. */
export function mediaTypeOf(contentType = ''): string {
  // Successive requests mostly have the same one.
  if (contentType !== lastHeader) {
    lastHeader = contentType;
    lastType = contentType.split(';')[0].trim().toLowerCase();
  }
  return lastType;
}

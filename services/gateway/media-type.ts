/** Returns the media type of a `Content-Type` header in lower case, without parameters. */
export function mediaTypeOf(contentType = ''): string {
  return contentType.split(';')[0].trim().toLowerCase();
}

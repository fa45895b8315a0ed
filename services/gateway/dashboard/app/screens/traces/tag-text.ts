const PAIR = /\s*(?:([^\s="]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*)))/y;

/** Tags as the user wrote them. */
export type ParsedTags =
  { readonly tags: Readonly<Record<string, string>>; readonly failure?: undefined } | { readonly failure: string };

/** Reads tags in logfmt: `http.status_code=500 error=true name="two words"`. */
export function parseTags(text: string): ParsedTags {
  // Without a prototype, a tag may be called `__proto__`.
  const tags = Object.create(null) as Record<string, string>;
  const trimmed = text.trim();
  let at = 0;
  while (at < trimmed.length) {
    PAIR.lastIndex = at;
    const match = PAIR.exec(trimmed);
    if (match === null) {
      const rest = trimmed.slice(at).trim().slice(0, 40);
      return { failure: `"${rest}" is no tag: write key=value, with quotes around a value with spaces` };
    }
    tags[match[1]] = match[2]?.replace(/\\(["\\])/g, '$1') ?? match[3];
    at = PAIR.lastIndex;
  }
  return { tags };
}

/** Whether a text may be the ID of a trace: 8 to 32 hexadecimal digits. */
export function isTraceId(text: string): boolean {
  return /^[0-9a-f]{8,32}$/i.test(text.trim());
}

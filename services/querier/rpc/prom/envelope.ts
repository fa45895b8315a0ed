import type { PromText } from '#shared/contracts/gen/querier';

/** Size of a chunk in characters: small enough to stream, large enough for little overhead. */
const CHUNK_CHARS = 128 * 1024;

/** Warning of a response that `limit` shortened. */
export const TRUNCATED_WARNING = 'results truncated due to limit';

/** Annotations of a response. */
export interface ResponseNotes {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** No annotations. */
export const NO_NOTES: ResponseNotes = { warnings: [], infos: [] };

/** Wraps data, which is JSON text, in the envelope of a successful response. */
export function* envelope(data: Iterable<string>, notes: () => ResponseNotes): Iterable<string> {
  yield '{"status":"success","data":';
  yield* data;
  const { warnings, infos } = notes();
  if (warnings.length > 0) yield `,"warnings":${JSON.stringify(warnings)}`;
  if (infos.length > 0) yield `,"infos":${JSON.stringify(infos)}`;
  yield '}';
}

/** Joins JSON texts to an array. */
export function jsonArray(elements: Iterable<string>): Iterable<string> {
  return jsonArrayOfParts(elements, (element) => [element]);
}

/** Joins elements to an array; each element is a sequence of texts. */
export function* jsonArrayOfParts<T>(items: Iterable<T>, parts: (item: T) => Iterable<string>): Iterable<string> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* parts(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** Collects texts to chunks. */
export function* textChunks(texts: Iterable<string>): Iterable<PromText> {
  let chunk = '';
  for (const text of texts) {
    chunk += text;
    if (chunk.length < CHUNK_CHARS) continue;
    yield { text: Buffer.from(chunk) };
    chunk = '';
  }
  if (chunk !== '') yield { text: Buffer.from(chunk) };
}

/** Shortens a list to a limit. @param limit 0 for no limit. */
export function applyLimit<T>(
  items: readonly T[],
  limit: number,
): { readonly items: readonly T[]; readonly isTruncated: boolean } {
  const isTruncated = limit > 0 && items.length > limit;
  return { items: isTruncated ? items.slice(0, limit) : items, isTruncated };
}

import type { PromText } from '#shared/contracts/gen/querier';

/** Characters of a piece; much larger ones would wait for each other, much smaller ones cost. */
const PIECE_CHARS = 128 * 1024;

/** Says that there was more. */
export const TRUNCATED_WARNING = 'results truncated due to limit';

/** What stands beside the data. */
export interface Notes {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

export const NO_NOTES: Notes = { warnings: [], infos: [] };

/** The text around data that is text already. */
export function* envelope(data: Iterable<string>, notes: () => Notes): Iterable<string> {
  yield '{"status":"success","data":';
  yield* data;
  const { warnings, infos } = notes();
  if (warnings.length > 0) yield `,"warnings":${JSON.stringify(warnings)}`;
  if (infos.length > 0) yield `,"infos":${JSON.stringify(infos)}`;
  yield '}';
}

/** `[a,b]` of texts. */
export function jsonArray(elements: Iterable<string>): Iterable<string> {
  return jsonArrayOfParts(elements, (element) => [element]);
}

/** The same of elements that are texts in parts. */
export function* jsonArrayOfParts<T>(items: Iterable<T>, parts: (item: T) => Iterable<string>): Iterable<string> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* parts(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** Texts in pieces of a useful size. */
export function* textChunks(texts: Iterable<string>): Iterable<PromText> {
  let piece = '';
  for (const text of texts) {
    piece += text;
    if (piece.length < PIECE_CHARS) continue;
    yield { text: Buffer.from(piece) };
    piece = '';
  }
  if (piece !== '') yield { text: Buffer.from(piece) };
}

/** As many as the limit says, and whether that is all. @param limit 0: no limit. */
export function cut<T>(items: readonly T[], limit: number): { readonly items: readonly T[]; readonly isCut: boolean } {
  const isCut = limit > 0 && items.length > limit;
  return { items: isCut ? items.slice(0, limit) : items, isCut };
}

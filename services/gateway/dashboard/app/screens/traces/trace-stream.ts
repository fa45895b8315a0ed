import type { JaegerSpan, JaegerTrace } from './span-tree.js';

/** Depth of the objects in `{"data":[{"spans":[{..}]}]}`. */
const SPAN_DEPTH = 5;
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Parses a reply with one trace while it arrives, a span at a time: parsing all of a large one at once would block the page.
 */
export class TraceReader {
  readonly #spans: JaegerSpan[] = [];
  /** The reply without the spans. */
  #frame = '';
  /** The begin of a span that has not arrived completely. */
  #rest = '';
  /** What is before it in the text belongs to the frame, or to a span that is parsed. */
  #start = 0;
  #depth = 0;
  /** Whether the container at the depth above spans is a list. */
  #isList = false;
  #isInString = false;
  #isEscaped = false;

  /** Takes the next text of the reply. */
  take(text: string): void {
    this.#start = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (this.#isInString) this.#inString(unit);
      else if (unit === QUOTE) this.#isInString = true;
      else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) this.#open(text, i, unit === OPEN_BRACKET);
      else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) this.#close(text, i);
      else if (unit === COMMA && this.#depth === SPAN_DEPTH - 1 && this.#isList) {
        this.#frame += text.slice(this.#start, i);
        this.#start = i + 1;
      }
    }
    const left = text.slice(this.#start);
    if (this.#depth >= SPAN_DEPTH && this.#isList) this.#rest += left;
    else this.#frame += left;
  }

  /** Returns the trace when all has arrived; undefined if the reply has none. @throws SyntaxError if it was cut off. */
  end(): JaegerTrace | undefined {
    const { data } = JSON.parse(this.#frame) as { readonly data: readonly JaegerTrace[] | null };
    return data?.[0] === undefined ? undefined : { ...data[0], spans: this.#spans };
  }

  #open(text: string, at: number, isList: boolean): void {
    this.#depth++;
    if (this.#depth === SPAN_DEPTH - 1) this.#isList = isList;
    if (this.#depth !== SPAN_DEPTH || !this.#isList) return;
    this.#frame += text.slice(this.#start, at);
    this.#start = at;
  }

  #close(text: string, at: number): void {
    if (this.#depth === SPAN_DEPTH && this.#isList) {
      this.#spans.push(JSON.parse(this.#rest + text.slice(this.#start, at + 1)) as JaegerSpan);
      this.#rest = '';
      this.#start = at + 1;
    }
    this.#depth--;
  }

  #inString(unit: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (unit === BACKSLASH) this.#isEscaped = true;
    else if (unit === QUOTE) this.#isInString = false;
  }
}

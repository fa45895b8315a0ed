/** An event that a server sent. */
export interface ServerEvent {
  /** Name of the event; `message` if it has none. */
  readonly name: string;
  readonly data: string;
}

/** Reads server-sent events from the text of a stream, in chunks of any size (HTML standard, section 9.2). */
export class EventStreamReader {
  #rest = '';
  #name = '';
  #data: string[] = [];
  #lastId = '';

  /** ID after which a new stream continues; empty before the first one. */
  get lastId(): string {
    return this.#lastId;
  }

  /** Takes the next text of the stream. @returns the events that it completes. */
  take(text: string): ServerEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): ServerEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'id') this.#lastId = value;
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    const [name, data] = [this.#name, this.#data];
    this.#name = '';
    this.#data = [];
    return data.length === 0 ? undefined : { name: name === '' ? 'message' : name, data: data.join('\n') };
  }
}

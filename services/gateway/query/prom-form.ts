import type { IncomingMessage } from 'node:http';

import { mediaTypeOf } from '../media-type.js';
import type { RequestContext } from '../request-context.js';
import { multipartFields } from './multipart.js';

/** Parameters of a request from its body and its URL; in Prometheus's API the body takes precedence. */
export class PromForm {
  readonly #first: URLSearchParams;
  readonly #second: URLSearchParams;

  constructor(body: URLSearchParams, url: URLSearchParams) {
    this.#first = body;
    this.#second = url;
  }

  /** Returns the same parameters with precedence of the URL. */
  withUrlFirst(): PromForm {
    return new PromForm(this.#second, this.#first);
  }

  /** Returns the value of a parameter; empty if there is none. */
  value(name: string): string {
    return this.#first.get(name) ?? this.#second.get(name) ?? '';
  }

  /** Returns all values of a parameter, those with precedence first. */
  values(name: string): string[] {
    return [...this.#first.getAll(name), ...this.#second.getAll(name)];
  }
}

/** Media type of forms in the encoding of URLs. */
export const URL_ENCODED = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

/** Whether the body of a request has parameters; other bodies are ignored. */
export function isForm({ headers }: IncomingMessage): boolean {
  const type = mediaTypeOf(headers['content-type']);
  return type === URL_ENCODED || type === MULTIPART;
}

/** Reads the parameters of a request. @throws `invalid_arguments` if the body does not match its type. */
export function formOf({ request, query }: RequestContext, body: Buffer | undefined): PromForm {
  return new PromForm(bodyParameters(request.headers['content-type'], body), query);
}

function bodyParameters(contentType: string | undefined, body: Buffer | undefined): URLSearchParams {
  if (body === undefined) return new URLSearchParams();
  if (mediaTypeOf(contentType) === URL_ENCODED) return new URLSearchParams(body.toString());
  const fields = multipartFields(contentType ?? '', body);
  return new URLSearchParams(fields.map(([name, content]): [string, string] => [name, content.toString()]));
}

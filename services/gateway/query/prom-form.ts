import { multipartFields } from './multipart.js';

/** Parameters of a request from its body and its URL; in Prometheus's API the body wins. */
export class PromForm {
  readonly #first: URLSearchParams;
  readonly #second: URLSearchParams;

  constructor(body: URLSearchParams, url: URLSearchParams) {
    this.#first = body;
    this.#second = url;
  }

  /** The same where the URL wins. */
  withUrlFirst(): PromForm {
    return new PromForm(this.#second, this.#first);
  }

  /** The value that counts; empty if there is none. */
  value(name: string): string {
    return this.#first.get(name) ?? this.#second.get(name) ?? '';
  }

  /** All values, those that win first. */
  values(name: string): string[] {
    return [...this.#first.getAll(name), ...this.#second.getAll(name)];
  }
}

const URL_ENCODED = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

/** Whether a body of this type has parameters; others are not looked at. */
export function isForm(contentType: string | undefined): boolean {
  const type = typeOf(contentType);
  return type === URL_ENCODED || type === MULTIPART;
}

/** The parameters in a body. @throws `invalid_arguments` if it is not what its type says. */
export function bodyParameters(contentType: string | undefined, body: Buffer): URLSearchParams {
  if (typeOf(contentType) === URL_ENCODED) return new URLSearchParams(body.toString());
  return new URLSearchParams(multipartFields(contentType ?? '', body));
}

function typeOf(contentType = ''): string {
  return contentType.split(';')[0].trim().toLowerCase();
}

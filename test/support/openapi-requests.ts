import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import { invariant } from '#shared/errors/invariant';

/** A schema, parameter, response or another part of the document. */
export type Part = Readonly<Record<string, unknown>>;

/** An operation of the document, with references resolved one level deep. */
export interface Operation {
  readonly method: string;
  /** With the values of the example. */
  readonly target: string;
  readonly template: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the example has none. */
  readonly body: string | undefined;
  /** Whether the operation has an example. */
  readonly hasExample: boolean;
  readonly isOpen: boolean;
  readonly exampleStatus: number | undefined;
  readonly responses: Readonly<Record<string, Part>>;
}

/** Path of the committed document. */
export const OPENAPI_FILE = 'docs/openapi.yaml';

/** Returns the committed document. */
export function committedDocument(): Part {
  return parse(readFileSync(OPENAPI_FILE, 'utf8')) as Part;
}

/** Returns what a reference refers to; other parts as they are. */
export function resolved(document: Part, part: unknown): Part {
  const { $ref: reference } = part as { readonly $ref?: string };
  if (reference === undefined) return part as Part;
  let found: unknown = document;
  for (const key of reference.slice(2).split('/')) {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
    found = (found as Part)[name];
  }
  invariant(found !== undefined, `${reference} refers to nothing`);
  return resolved(document, found);
}

/** Returns all operations, those that write first. */
export function operationsOf(document: Part): Operation[] {
  const operations = Object.entries(document['paths'] as Part).flatMap(([template, path]) =>
    Object.entries(resolved(document, path)).map(([method, operation]) =>
      operationOf(document, { method: method.toUpperCase(), template, operation: operation as Part }),
    ),
  );
  const order = ['POST', 'PUT', 'GET', 'DELETE'];
  return operations.sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
}

function operationOf(
  document: Part,
  { method, template, operation }: { readonly method: string; readonly template: string; readonly operation: Part },
): Operation {
  const parameters = ((operation['parameters'] ?? []) as unknown[]).map((it) => resolved(document, it));
  const given = parameters.filter(({ example }) => example !== undefined);
  const valuesIn = (place: string): [string, string][] =>
    given.filter((it) => it['in'] === place).map(({ name, example }) => [String(name), String(example)]);
  const query = new URLSearchParams(valuesIn('query')).toString();
  let path = template;
  for (const [name, value] of valuesIn('path')) path = path.replace(`{${name}}`, encodeURIComponent(value));
  const content = Object.entries((resolved(document, operation['requestBody'] ?? {})['content'] ?? {}) as Part);
  const example = content.find(([, it]) => (it as Part)['example'] !== undefined);
  const responses = Object.entries(operation['responses'] as Part);
  return {
    method,
    template,
    target: query === '' ? path : `${path}?${query}`,
    headers: { ...Object.fromEntries(valuesIn('header')), ...(example && { 'content-type': example[0] }) },
    body: example && bodyText(example[0], (example[1] as Part)['example']),
    hasExample: !path.includes('{') && (content.length === 0 || example !== undefined || isOptionalBody(operation)),
    isOpen: operation['security'] !== undefined,
    exampleStatus: operation['x-example-status'] as number | undefined,
    responses: Object.fromEntries(responses.map(([status, it]) => [status, resolved(document, it)])),
  };
}

function isOptionalBody(operation: Part): boolean {
  return (operation['requestBody'] as Part | undefined)?.['required'] === false;
}

function bodyText(type: string, value: unknown): string {
  if (type === 'application/json') return JSON.stringify(value);
  if (type === 'application/x-www-form-urlencoded') {
    return new URLSearchParams(value as Record<string, string>).toString();
  }
  return String(value);
}

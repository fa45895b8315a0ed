import { ERROR_CODES } from '#shared/errors/codes';
import { invariant } from '#shared/errors/invariant';

import type { HttpMethod } from '../request-context.js';
import { Components, exampleValue } from './components.js';
import type { BodyDoc, DocumentedRoute, ErrorFormDoc, ExampleDoc, MethodDoc, RouteDoc } from './route-doc.js';
import { objectOf } from './schemas.js';

type Json = Readonly<Record<string, unknown>>;

/** Statuses of bodies that are not read, with the same codes as others. */
const OF_BODIES: readonly (readonly [number, string[]])[] = [
  [413, ['the body is too large']],
  [415, ['type or encoding of the body are not supported']],
];
const FORM_TYPE = 'application/x-www-form-urlencoded';
const DESCRIPTION =
  'Write, query and monitor Almanac over HTTP. Every header `x-almanac-NAME` may also be named `x-greptime-NAME`. ' +
  'HEAD is supported wherever GET is.';

/** Returns the description of routes as an OpenAPI 3.1 document. @param version of the program. */
export function openapiDocument(routes: readonly DocumentedRoute[], version: string): Json {
  const byPath = docsByPath(routes);
  const named = [...byPath].map(([path, docs]) => {
    const [first] = [...byPath].find(([, others]) => areSame(docs, others)) ?? [path];
    return { path, docs, first };
  });
  const own = named.filter(({ path, first }) => path === first);
  const components = new Components(
    own.flatMap(({ docs }) => Array.from(docs, ([method, doc]) => methodDoc(doc, method))),
  );
  const paths = named.map(({ path, docs, first }) => {
    if (path !== first) return [path, { $ref: `#/paths/${pointerPart(first)}` }] as const;
    const operations = Array.from(docs, ([method, doc]) => {
      return [method.toLowerCase(), operationOf({ method, path, doc, components })] as const;
    });
    return [path, Object.fromEntries(operations)] as const;
  });
  const groups = [...new Set(routes.map(({ doc }) => doc.group))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Almanac',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      version,
    },
    servers: [{ url: '/' }],
    security: [{ basic: [] }, { bearer: [] }, {}],
    tags: groups.map(({ name, description, page }) => ({
      name,
      description: `${description} See \`docs/${page}\`.`,
    })),
    paths: Object.fromEntries(paths) as unknown,
    components: {
      ...components.json(),
      securitySchemes: { basic: { type: 'http', scheme: 'basic' }, bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** Converts `/a/:name` to `/a/{name}`. An optional rest of the path is left out: the summary says what is below. */
function templateOf(path: string): string {
  return path.replace('{/*rest}', '').replace(/[:*](\w+)/g, '{$1}');
}

/** The descriptions of a path, by method. */
type MethodRoutes = ReadonlyMap<HttpMethod, RouteDoc>;

function docsByPath(routes: readonly DocumentedRoute[]): Map<string, MethodRoutes> {
  const byPath = new Map<string, Map<HttpMethod, RouteDoc>>();
  for (const { path: expressPath, methods, doc } of routes) {
    const path = templateOf(expressPath);
    const docs = byPath.get(path) ?? new Map<HttpMethod, RouteDoc>();
    byPath.set(path, docs);
    for (const method of methods) {
      invariant(!docs.has(method), `${method} ${path} is a route twice`);
      docs.set(method, doc);
    }
  }
  return byPath;
}

/** Whether two paths are names of the same operations. */
function areSame(docs: MethodRoutes, others: MethodRoutes): boolean {
  return docs.size === others.size && [...docs].every(([method, doc]) => others.get(method) === doc);
}

/** Escapes a key for a JSON pointer in a URL. */
function pointerPart(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function methodDoc(doc: RouteDoc, method: HttpMethod): MethodDoc {
  return { ...doc, ...doc.byMethod?.[method] };
}

interface Operation {
  readonly method: HttpMethod;
  readonly path: string;
  readonly doc: RouteDoc;
  readonly components: Components;
}

function operationOf({ method, path, doc, components }: Operation): Json {
  const own = methodDoc(doc, method);
  const { summary, description, parameters = [], example, takesForm = false } = own;
  const isForm = takesForm && method === 'POST';
  const inUrl = isForm ? parameters.filter((parameter) => parameter.in !== 'query') : parameters;
  const body = isForm ? formBody(own, components) : bodyOf(own, method);
  return {
    operationId: operationId(method, path),
    tags: [doc.group.name],
    summary,
    ...(description !== undefined && { description }),
    ...(inUrl.length > 0 && {
      parameters: inUrl.map((it) => components.parameter(it, example?.parameters?.[it.name])),
    }),
    ...(body !== undefined && {
      requestBody: requestBody(body, isForm ? formExample(own) : example?.body, components),
    }),
    responses: responsesOf(own, doc, components),
    ...(doc.isOpen === true && { security: [] }),
    ...(example?.status !== undefined && { 'x-example-status': example.status }),
  };
}

/** Makes a name such as `getV1Sql`. */
function operationId(method: string, path: string): string {
  const words = path.match(/[A-Za-z0-9]+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word[0].toUpperCase() + word.slice(1)).join('');
}

function bodyOf({ body }: MethodDoc, method: HttpMethod): BodyDoc | undefined {
  return method === 'GET' || method === 'DELETE' ? undefined : body;
}

/** Returns the form of the parameters, beside the other types of bodies. */
function formBody({ parameters = [], body, example }: MethodDoc, components: Components): BodyDoc {
  const members = parameters.filter((parameter) => parameter.in === 'query');
  const form = objectOf(
    Object.fromEntries(
      members.map((parameter) => [
        parameter.required === true ? parameter.name : `${parameter.name}?`,
        components.parameterSchema(parameter, example?.parameters?.[parameter.name]),
      ]),
    ),
  );
  const description = 'The parameters, which may also be in the URL.';
  return {
    description: body === undefined ? description : `${description} ${body.description}`,
    // Unknown members are ignored.
    content: { [FORM_TYPE]: { ...form, additionalProperties: true }, ...body?.content },
    isRequired: false,
  };
}

function formExample({ parameters = [], example }: MethodDoc): ExampleDoc['body'] {
  const entries = parameters.flatMap((parameter) => {
    const value = example?.parameters?.[parameter.name];
    return parameter.in === 'query' && value !== undefined
      ? [[parameter.name, exampleValue(value, parameter)] as const]
      : [];
  });
  return example && { type: FORM_TYPE, value: Object.fromEntries(entries) };
}

function requestBody(
  { description, content, isRequired = true }: BodyDoc,
  example: ExampleDoc['body'],
  components: Components,
): Json {
  const types = Object.entries(content).map(([type, schema]) => [
    type,
    { schema: components.schema(schema), ...(example?.type === type && { example: example.value }) },
  ]);
  return { description, required: isRequired, content: Object.fromEntries(types) as unknown };
}

function responsesOf(
  { replies }: MethodDoc,
  { group, errors: form = group.errors, isOpen }: RouteDoc,
  components: Components,
): Json {
  const own = Object.entries(replies).map(([status, reply]) => [status, components.reply(reply, status)]);
  const errors = form === undefined || isOpen === true ? [] : errorResponses(form, components);
  return { ...Object.fromEntries(errors), ...Object.fromEntries(own) } as Json;
}

/** Returns the responses for errors of the client and of the server, which all routes of a form share. */
function errorResponses(form: ErrorFormDoc, components: Components): (readonly [string, Json])[] {
  const byStatus = new Map<number, string[]>(OF_BODIES);
  for (const code of form.codes) {
    const { number, http } = ERROR_CODES[code];
    const status = form.statuses?.[code] ?? http;
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\` (${number})`]);
  }
  const statuses = [...byStatus].sort(([a], [b]) => a - b);
  return (['4XX', '5XX'] as const).map((range) => {
    const ofRange = statuses.filter(([status]) => String(status).startsWith(range[0]));
    const description = ofRange.map(([status, cases]) => `${status}: ${cases.join(', ')}.`).join(' ');
    return [range, components.response(`${form.name}${range}`, { description, content: form.content })] as const;
  });
}

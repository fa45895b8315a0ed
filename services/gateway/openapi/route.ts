import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

import { acceptedEncoding, withEncoding, send } from '../reply.js';
import type { Handler, ListenerKind } from '../request-context.js';
import { openapiDocument } from './document.js';
import type { DocumentedRoute, RouteGroup } from './route-doc.js';
import { emptyDoc, jsonDoc, objectOf, TEXT } from './schemas.js';

/** The document, in all encodings. */
interface PackedDocument {
  readonly etag: string;
  readonly plain: Uint8Array;
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

/** A fast one: the document is made at the first request, beside other work. */
const BROTLI_QUALITY = 5;
const PATH = '/v1/openapi.json';
const META: RouteGroup = {
  name: 'API document',
  description: 'The description of this API.',
  page: 'http-api.md',
  errors: undefined,
};

/**
 * Returns the route of the API document, which also describes itself.
 *
 * @param routes all others.
 * @param isPublic whether the public listener serves a path; its document has only those.
 */
export function openapiRoute(
  routes: readonly DocumentedRoute[],
  version: string,
  isPublic: (path: string) => boolean,
): DocumentedRoute & { readonly handler: Handler } {
  const packed: Partial<Record<ListenerKind, Promise<PackedDocument>>> = {};
  const documented = (listener: ListenerKind): DocumentedRoute[] => {
    return [...routes, route].filter(({ path }) => listener === 'main' || isPublic(path));
  };
  const route: DocumentedRoute & { readonly handler: Handler } = {
    methods: ['GET'],
    path: PATH,
    doc: {
      group: META,
      isOpen: true,
      summary: 'Returns this document',
      description: 'The public listener returns only the paths that it serves.',
      replies: {
        200: jsonDoc('An OpenAPI 3.1 document.', {
          ...objectOf({ openapi: TEXT, info: { type: 'object' }, paths: { type: 'object' } }),
          additionalProperties: true,
        }),
        304: emptyDoc('The document has the `ETag` of `If-None-Match`.'),
      },
      example: {},
    },
    handler: async (context) => {
      const { request, response, commonHeaders, listener } = context;
      request.resume();
      const document = await (packed[listener] ??= pack(openapiDocument(documented(listener), version)));
      const headers: Record<string, string | number> = { 'cache-control': 'no-cache', etag: document.etag };
      headers['vary'] = withEncoding(commonHeaders['vary']);
      if (request.headers['if-none-match'] === document.etag) {
        return send(context, { status: 304, headers: headers as Record<string, string> });
      }
      const encoding = acceptedEncoding(context);
      if (encoding !== undefined) headers['content-encoding'] = encoding;
      const bytes = document[encoding ?? 'plain'];
      headers['content-type'] = 'application/json';
      headers['content-length'] = bytes.length;
      response.writeHead(200, { ...commonHeaders, ...headers });
      response.end(bytes);
    },
  };
  return route;
}

async function pack(document: unknown): Promise<PackedDocument> {
  const plain = Buffer.from(JSON.stringify(document));
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    promisify(gzip)(plain),
  ]);
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 27);
  return { etag: `"${hash}"`, plain, br, gzip: gzipped };
}

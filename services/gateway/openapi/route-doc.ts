import type { ErrorCode } from '#shared/errors/codes';

import type { HttpMethod } from '../request-context.js';

/** A JSON Schema, as OpenAPI 3.1 uses it. One with a `title` becomes a component of that name. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A parameter of a route. */
export interface ParameterDoc {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly description: string;
  readonly schema: JsonSchema;
  readonly required?: boolean;
}

/** Schemas by media type. */
export type ContentDoc = Readonly<Record<string, JsonSchema>>;

/** A reply of a route; one without content has no body. */
export interface ReplyDoc {
  readonly description: string;
  readonly content?: ContentDoc;
}

/** How routes of a group report errors. */
export interface ErrorFormDoc {
  /** Name of the components, in upper camel case. */
  readonly name: string;
  readonly content: ContentDoc;
  /** Codes that any route of the group may report. */
  readonly codes: readonly ErrorCode[];
  /** HTTP status of codes that have another one than in `shared/errors/codes.ts`. */
  readonly statuses?: Readonly<Partial<Record<ErrorCode, number>>>;
}

/** Routes that belong together: a tag of the document. */
export interface RouteGroup {
  readonly name: string;
  readonly description: string;
  /** Page below `docs/`. */
  readonly page: string;
  /** Undefined: the routes report no errors. */
  readonly errors: ErrorFormDoc | undefined;
}

/** A request that succeeds on a new server, after the examples of other routes that write. */
export interface ExampleDoc {
  /** Values of parameters, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: { readonly type: string; readonly value: unknown };
  /** Status of the reply, if it is not a success. */
  readonly status?: number;
}

/** The body of requests with another method than GET and DELETE. */
export interface BodyDoc {
  readonly description: string;
  readonly content: ContentDoc;
  /** Default: true. */
  readonly isRequired?: boolean;
}

/** Describes a method of a route. */
export interface MethodDoc {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly ParameterDoc[];
  /** Whether a POST may send the parameters of the query as a form. */
  readonly takesForm?: boolean;
  readonly body?: BodyDoc;
  readonly replies: Readonly<Record<number, ReplyDoc>>;
  /** Undefined only for routes whose bodies are binary, or that need a connection of another kind. */
  readonly example?: ExampleDoc;
}

/** Describes a route, in the document of the HTTP API. */
export interface RouteDoc extends MethodDoc {
  readonly group: RouteGroup;
  /** How it reports errors, if not as the others of the group. */
  readonly errors?: ErrorFormDoc;
  /** Whether the route needs no credentials. */
  readonly isOpen?: boolean;
  /** What differs for a method. */
  readonly byMethod?: Readonly<Partial<Record<HttpMethod, Partial<MethodDoc>>>>;
}

/** The parts of a route that the document describes. */
export interface DocumentedRoute {
  readonly methods: readonly HttpMethod[];
  /** In the syntax of Express. */
  readonly path: string;
  readonly doc: RouteDoc;
}

import type { JsonSchema, ReplyDoc } from './route-doc.js';

/** Any text. */
export const TEXT: JsonSchema = { type: 'string' };
/** A whole number. */
export const WHOLE: JsonSchema = { type: 'integer' };
/** A number. */
export const NUMBER: JsonSchema = { type: 'number' };
/** `true` or `false`. */
export const FLAG: JsonSchema = { type: 'boolean' };
/** Any value. */
export const ANY_VALUE: JsonSchema = {};
/** A text in RFC 3339. */
export const TIME_TEXT: JsonSchema = { type: 'string', format: 'date-time' };
/** An object of texts. */
export const TEXT_MAP: JsonSchema = { type: 'object', additionalProperties: TEXT };
/** Bytes. */
export const BINARY: JsonSchema = { type: 'string', format: 'binary' };

/** One of some texts. */
export function enumOf(...values: readonly string[]): JsonSchema {
  return { type: 'string', enum: values };
}

/** A list of values of one kind. */
export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** An object with these members and no others; those whose name ends with `?` may be missing. */
export function objectOf(members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const names = Object.keys(members);
  const required = names.filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), members[name]])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** A value of one of several kinds. */
export function anyOf(...schemas: readonly JsonSchema[]): JsonSchema {
  return { anyOf: schemas };
}

/** A value of this kind, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** The same schema as a component of the document. */
export function componentOf(title: string, schema: JsonSchema): JsonSchema {
  return { title, ...schema };
}

/** A reply with a JSON body. */
export function jsonDoc(description: string, schema: JsonSchema): ReplyDoc {
  return { description, content: { 'application/json': schema } };
}

/** A reply with a text. */
export function textDoc(description: string, pattern?: string): ReplyDoc {
  return { description, content: { 'text/plain': pattern === undefined ? TEXT : { ...TEXT, pattern } } };
}

/** A reply without a body. */
export function emptyDoc(description: string): ReplyDoc {
  return { description };
}

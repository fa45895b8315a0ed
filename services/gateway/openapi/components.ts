import type { ContentDoc, JsonSchema, MethodDoc, ParameterDoc, ReplyDoc } from './route-doc.js';

type Json = Readonly<Record<string, unknown>>;

/** A parameter and its value in an example: the same pair of several operations is one component. */
interface ParameterUse {
  count: number;
  name: string | undefined;
}

/** Parts of the document that several routes refer to. */
export class Components {
  readonly #uses = new Map<ParameterDoc, Map<string | undefined, ParameterUse>>();
  readonly #replyNames = new Map<ReplyDoc, string | undefined>();
  readonly #parameters: Record<string, Json> = {};
  readonly #schemas: Record<string, Json> = {};
  readonly #responses: Record<string, Json> = {};

  /** @param docs one for each operation; parameters and replies of several of them become components. */
  constructor(docs: readonly MethodDoc[]) {
    const seen = new Set<ReplyDoc>();
    for (const { parameters = [], replies, example } of docs) {
      for (const parameter of parameters) this.#use(parameter, example?.parameters?.[parameter.name]).count++;
      for (const reply of Object.values(replies)) {
        if (seen.has(reply)) this.#replyNames.set(reply, undefined);
        seen.add(reply);
      }
    }
  }

  /** Returns a parameter, or a reference to it. @param example its value in the example of the operation. */
  parameter(parameter: ParameterDoc, example: string | undefined): Json {
    const name = this.#parameterName(parameter, example);
    return name === undefined ? this.#plainParameter(parameter, example) : { $ref: `#/components/parameters/${name}` };
  }

  /** Returns the schema of a parameter, or a reference to it. */
  parameterSchema(parameter: ParameterDoc, example: string | undefined): Json {
    const name = this.#parameterName(parameter, example);
    return name === undefined ? this.schema(parameter.schema) : { $ref: `#/components/parameters/${name}/schema` };
  }

  /** Returns a schema, in which those with a title are references. */
  schema(schema: JsonSchema): Json {
    const { title, ...rest } = schema;
    if (typeof title !== 'string') return this.#resolved(rest) as Json;
    this.#schemas[title] ??= this.#resolved(rest) as Json;
    return { $ref: `#/components/schemas/${title}` };
  }

  /** Returns a reply, or a reference to it. */
  reply(reply: ReplyDoc, status: string): Json {
    if (!this.#replyNames.has(reply)) return this.#plainReply(reply);
    const name = this.#replyNames.get(reply) ?? freeName(`Reply${status}`, this.#responses);
    this.#replyNames.set(reply, name);
    return this.response(name, reply);
  }

  /** Adds a response and returns a reference to it. */
  response(name: string, reply: ReplyDoc): Json {
    this.#responses[name] ??= this.#plainReply(reply);
    return { $ref: `#/components/responses/${name}` };
  }

  /** Returns all components. */
  json(): Json {
    return { schemas: this.#schemas, parameters: this.#parameters, responses: this.#responses };
  }

  #use(parameter: ParameterDoc, example: string | undefined): ParameterUse {
    const uses = this.#uses.get(parameter) ?? new Map<string | undefined, ParameterUse>();
    this.#uses.set(parameter, uses);
    const use = uses.get(example) ?? { count: 0, name: undefined };
    uses.set(example, use);
    return use;
  }

  #parameterName(parameter: ParameterDoc, example: string | undefined): string | undefined {
    const use = this.#use(parameter, example);
    if (use.count < 2) return undefined;
    if (use.name === undefined) {
      use.name = freeName(parameter.name.replace(/[^\w.-]/g, ''), this.#parameters);
      this.#parameters[use.name] = this.#plainParameter(parameter, example);
    }
    return use.name;
  }

  #plainParameter(parameter: ParameterDoc, example: string | undefined): Json {
    const { name, in: place, description, schema, required } = parameter;
    return {
      name,
      in: place,
      description,
      ...(required === true && { required }),
      schema: this.schema(schema),
      ...(example !== undefined && { example: exampleValue(example, parameter) }),
    };
  }

  #plainReply({ description, content }: ReplyDoc): Json {
    return { description, ...(content !== undefined && { content: this.#content(content) }) };
  }

  #content(content: ContentDoc): Json {
    return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema: this.schema(schema) }]));
  }

  #resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#resolved(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        // Names of members are no titles.
        if (key === 'properties') return [key, this.#members(member as Json)];
        return [key, isTitled(member) ? this.schema(member) : this.#resolved(member)];
      }),
    );
  }

  #members(members: Json): Json {
    return Object.fromEntries(
      Object.entries(members).map(([name, schema]) => [name, this.schema(schema as JsonSchema)]),
    );
  }
}

/** Returns the value of an example as the schema of its parameter has it. */
export function exampleValue(value: string, { schema }: ParameterDoc): unknown {
  return schema['type'] === 'integer' || schema['type'] === 'number' ? Number(value) : value;
}

function isTitled(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && typeof (value as Json)['title'] === 'string';
}

function freeName(name: string, used: Json): string {
  if (used[name] === undefined) return name;
  let suffix = 2;
  while (used[`${name}.${suffix}`] !== undefined) suffix++;
  return `${name}.${suffix}`;
}

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';

const PROTO_ROOT = 'proto';
const PACKAGE = 'almanac.v1';

const NUMBER_TYPES = new Set(['uint32', 'int32', 'sint32', 'fixed32', 'sfixed32', 'double', 'float']);
const BIG_TYPES = new Set(['uint64', 'int64', 'sint64', 'fixed64', 'sfixed64']);

/**
 * TypeScript interfaces of every message and service under proto/almanac/v1, as file name -> text.
 *
 * Both transports speak these: field names in camelCase, 64-bit integers as bigint unless marked JS_NUMBER, messages
 * optional, lists and maps always present. A server-streaming method is an async iterable.
 */
export function contractTypes(): Map<string, string> {
  const files = new Map<string, string>();
  for (const file of readdirSync(join(PROTO_ROOT, 'almanac/v1')).sort()) {
    const name = file.replace('.proto', '');
    files.set(`shared/contracts/gen/${name}.ts`, typesOf(name));
  }
  return files;
}

function typesOf(name: string): string {
  const source = readFileSync(join(PROTO_ROOT, `almanac/v1/${name}.proto`), 'utf8');
  const parsed = protobuf.parse(source, new protobuf.Root(), { keepCase: false, alternateCommentMode: true });
  const scope = parsed.root.lookup(PACKAGE) as protobuf.Namespace;
  const types = scope.nestedArray.filter((entry): entry is protobuf.Type => entry instanceof protobuf.Type);
  const services = scope.nestedArray.filter((entry): entry is protobuf.Service => entry instanceof protobuf.Service);
  const own = new Set(types.map((type) => type.name));
  const foreign = new Set<string>();
  const use = (type: string): string => {
    if (!own.has(type)) foreign.add(type);
    return type;
  };

  const body = [
    ...services.map((service) => serviceInterface(service, use)),
    ...types.map((type) => messageInterface(type, use)),
  ].join('\n');
  const imports = [
    ...(services.length > 0 ? [`import type { Call } from '../call.js';`] : []),
    ...(foreign.size > 0 ? [importOf([...foreign].sort(), './common.js')] : []),
  ];
  const head = `// Generated from proto/almanac/v1/${name}.proto by \`npm run generate\`. Do not edit.\n`;
  return head + (imports.length > 0 ? `\n${imports.join('\n')}\n` : '') + `\n${body}`;
}

function serviceInterface(service: protobuf.Service, use: (type: string) => string): string {
  const methods = service.methodsArray.map((method) => {
    const request = use(method.requestType);
    const response = use(method.responseType);
    const result = method.responseStream === true ? `AsyncIterable<${response}>` : `Promise<${response}>`;
    const name = method.name.charAt(0).toLowerCase() + method.name.slice(1);
    return `${comment(method.comment, '  ')}  ${name}(request: ${request}, call: Call): ${result};\n`;
  });
  return `${comment(service.comment, '')}export interface ${service.name}Service {\n${methods.join('')}}\n`;
}

function messageInterface(type: protobuf.Type, use: (type: string) => string): string {
  if (type.fieldsArray.length === 0) {
    return `${comment(type.comment, '')}export type ${type.name} = Readonly<Record<string, never>>;\n`;
  }
  const fields = type.fieldsArray.map((field) => {
    const text = fieldType(field, use);
    const optional = field instanceof protobuf.MapField || field.repeated ? false : isOptional(field);
    return `${comment(field.comment, '  ')}  readonly ${field.name}${optional ? '?' : ''}: ${text}${optional ? ' | undefined' : ''};\n`;
  });
  return `${comment(type.comment, '')}export interface ${type.name} {\n${fields.join('')}}\n`;
}

function isOptional(field: protobuf.Field): boolean {
  const options = (field.options ?? {}) as Record<string, unknown>;
  return options['proto3_optional'] === true || !isScalar(field.type);
}

function fieldType(field: protobuf.Field, use: (type: string) => string): string {
  const options = (field.options ?? {}) as Record<string, unknown>;
  const single = isScalar(field.type) ? scalarType(field.type, options['jstype'] === 'JS_NUMBER') : use(field.type);
  if (field instanceof protobuf.MapField) return `Readonly<Record<string, ${single}>>`;
  return field.repeated ? `readonly ${single}[]` : single;
}

function isScalar(type: string): boolean {
  return NUMBER_TYPES.has(type) || BIG_TYPES.has(type) || type === 'string' || type === 'bool' || type === 'bytes';
}

function scalarType(type: string, asNumber: boolean): string {
  if (NUMBER_TYPES.has(type)) return 'number';
  if (BIG_TYPES.has(type)) return asNumber ? 'number' : 'bigint';
  if (type === 'bool') return 'boolean';
  return type === 'bytes' ? 'Uint8Array' : 'string';
}

function comment(text: string | null, indent: string): string {
  if (text === null) return '';
  const lines = text.split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

const LINE_LENGTH_MAX = 120;

/** Returns an import, broken into lines as the formatter does. */
function importOf(names: readonly string[], from: string): string {
  const line = `import type { ${names.join(', ')} } from '${from}';`;
  if (line.length <= LINE_LENGTH_MAX) return line;
  return `import type {\n${names.map((name) => `  ${name},\n`).join('')}} from '${from}';`;
}

import protobuf from 'protobufjs';

import type { AdminService } from '#shared/contracts/gen/admin';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { ProcessesService } from '#shared/contracts/gen/processes';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { invariant } from '#shared/errors/invariant';
import { PROGRAM_ROOT } from '#shared/fs/program-root';

import { MessageType } from './message-type.js';
import { SCALARS } from './scalars.js';

/** The services that are called across processes, by their names in the contracts. */
export interface Contracts {
  readonly Admin: AdminService;
  readonly Ingester: IngesterService;
  readonly Metadata: MetadataService;
  readonly Processes: ProcessesService;
  readonly Querier: QuerierService;
}

/** Name of a service in the contracts. */
export type ContractName = keyof Contracts;

/** One method of a service. */
export interface Method {
  /** Name in the TypeScript interface. */
  readonly name: string;
  /** `Ingester.write`, for messages. */
  readonly title: string;
  /** Path in HTTP/2. */
  readonly path: string;
  readonly isStream: boolean;
  readonly request: MessageType;
  readonly response: MessageType;
}

/** A service and its methods. */
export interface Contract {
  readonly fullName: string;
  readonly methods: readonly Method[];
}

/** The contracts are read from the source tree, not from the compiled one. */
const PROTO_ROOT = `${PROGRAM_ROOT}proto/`;

const CONTRACTS = new Map<string, Contract>();

/** Returns one of Almanac's own services. Contracts are loaded once per process, in 20 ms. */
export function contractOf(name: ContractName): Contract {
  return contract(`almanac/v1/${name.toLowerCase()}.proto`, `almanac.v1.${name}`);
}

/** Returns the standard health service. */
export function healthContract(): Contract {
  return contract('wire/health.proto', 'grpc.health.v1.Health');
}

function contract(file: string, fullName: string): Contract {
  let known = CONTRACTS.get(fullName);
  if (known === undefined) {
    known = readContract(file, fullName);
    CONTRACTS.set(fullName, known);
  }
  return known;
}

function readContract(file: string, fullName: string): Contract {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => PROTO_ROOT + target;
  root.loadSync(file, { keepCase: false }).resolveAll();
  const service = root.lookupService(fullName);
  const types = new Map<protobuf.Type, MessageType>();
  const methods = service.methodsArray.map((method): Method => {
    const name = method.name.charAt(0).toLowerCase() + method.name.slice(1);
    invariant(method.requestStream !== true, `${fullName}.${method.name} takes a stream, which is unsupported`);
    return {
      name,
      title: `${service.name}.${name}`,
      path: `/${fullName}/${method.name}`,
      isStream: method.responseStream === true,
      request: messageType(method.resolvedRequestType, types),
      response: messageType(method.resolvedResponseType, types),
    };
  });
  return { fullName, methods };
}

function messageType(source: protobuf.Type | null, types: Map<protobuf.Type, MessageType>): MessageType {
  invariant(source !== null, 'a type of the contracts is not resolved');
  const known = types.get(source);
  if (known !== undefined) return known;
  const type = new MessageType(source.name);
  types.set(source, type);
  for (const field of source.fieldsArray) {
    const { resolvedType } = field;
    const isMessage = resolvedType instanceof protobuf.Type;
    const isMap = field instanceof protobuf.MapField;
    invariant(!isMap || field.keyType === 'string', `${source.name}.${field.name}: keys of maps are strings`);
    const options = (field.options ?? {}) as Record<string, unknown>;
    type.fields.push({
      name: field.name,
      number: field.id,
      shape: isMap ? 'map' : field.repeated ? 'list' : 'single',
      isOptional: isMessage || options['proto3_optional'] === true,
      value: isMessage ? messageType(resolvedType, types) : scalarOf(field, options['jstype'] === 'JS_NUMBER'),
    });
  }
  return type;
}

function scalarOf(field: protobuf.Field, isNumber: boolean) {
  const name = field.resolvedType instanceof protobuf.Enum ? 'enum' : field.type;
  const scalar = SCALARS.get(isNumber ? `${name} as number` : name);
  invariant(scalar !== undefined, `${field.fullName} has the unsupported type "${name}"`);
  return scalar;
}

import { fileURLToPath } from 'node:url';

import { expect } from 'chai';
import fc from 'fast-check';
import protobuf from 'protobufjs';

import { AlmanacError } from '#shared/errors/almanac-error';
import { contractOf, healthContract, type Contract } from '#shared/grpc/contract';
import { MessageType, type MessageField } from '#shared/grpc/message-type';
import { SCALARS, type Scalar } from '#shared/grpc/scalars';

const RUNS = 100;
const PROTO_ROOT = fileURLToPath(new URL('../../../../../proto/', import.meta.url));

const safe = { min: -(2 ** 53) + 1, max: 2 ** 53 - 1 };
const ARBITRARIES = new Map<string, fc.Arbitrary<unknown>>([
  ['uint32', fc.oneof(fc.nat(), fc.constantFrom(0, 127, 128, 2 ** 32 - 1))],
  ['int32', fc.integer()],
  ['enum', fc.integer({ min: 0, max: 3 })],
  ['bool', fc.boolean()],
  ['int64', fc.oneof(fc.bigInt(-(1n << 63n), (1n << 63n) - 1n), fc.bigInt(-300n, 300n))],
  ['uint64', fc.oneof(fc.bigInt(0n, (1n << 64n) - 1n), fc.bigInt(0n, 300n))],
  ['int64 as number', fc.oneof(fc.integer(safe), fc.nat())],
  ['uint64 as number', fc.oneof(fc.integer({ ...safe, min: 0 }), fc.nat())],
  ['double', fc.double()],
  ['string', fc.string({ unit: 'binary' })],
  ['bytes', fc.uint8Array()],
]);

function scalarValue(scalar: Scalar, field: MessageField): fc.Arbitrary<unknown> {
  // Two names may share an entry; an enum's values are those of the narrower one.
  const names = [...SCALARS].filter(([, entry]) => entry === scalar).map(([name]) => name);
  return ARBITRARIES.get(names[names.length - 1]) ?? expect.fail(`no values for ${field.name}`);
}

function fieldValue(field: MessageField): fc.Arbitrary<unknown> {
  const { value } = field;
  const one = value instanceof MessageType ? message(value) : scalarValue(value, field);
  if (field.shape === 'list') return fc.array(one, { maxLength: 5 });
  if (field.shape === 'map') return fc.dictionary(fc.string(), one, { maxKeys: 5, noNullPrototype: true });
  return one;
}

function message(type: MessageType): fc.Arbitrary<object> {
  const fields = type.fields.map((field) => [field.name, fieldValue(field)] as const);
  const required = type.fields.filter((field) => field.shape !== 'single' || !isAbsentable(field));
  const options = { requiredKeys: required.map((field) => field.name), noNullPrototype: true };
  return fc.record(Object.fromEntries(fields), options);
}

function isAbsentable({ isOptional, value }: MessageField): boolean {
  return isOptional || value instanceof MessageType;
}

function typesOf(contract: Contract): Map<string, MessageType> {
  const types = new Map<string, MessageType>();
  const add = (type: MessageType): void => {
    if (types.has(type.name)) return;
    types.set(type.name, type);
    for (const { value } of type.fields) if (value instanceof MessageType) add(value);
  };
  for (const { request, response } of contract.methods) [request, response].forEach(add);
  return types;
}

describe('messages of the contracts', () => {
  const contracts = (['Admin', 'Ingester', 'Metadata', 'Querier'] as const).map(contractOf);
  const types = new Map([...contracts, healthContract()].flatMap((contract) => [...typesOf(contract)]));
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => PROTO_ROOT + target;
  const files = ['admin', 'common', 'ingester', 'metadata', 'querier'].map((name) => `almanac/v1/${name}.proto`);
  root.loadSync([...files, 'wire/health.proto'], { keepCase: false }).resolveAll();

  for (const [name, type] of types) {
    it(`${name} survives a round trip, also through another implementation`, () => {
      const other = root.lookupType(name);
      const property = fc.property(message(type), (value) => {
        const bytes = type.encode(value);
        expect(type.decode(bytes)).to.deep.equal(value);
        expect(type.decode(Buffer.from(other.encode(other.decode(bytes)).finish()))).to.deep.equal(value);
      });
      fc.assert(property, { numRuns: RUNS });
    });
  }

  it('fills in what is missing', () => {
    const segment = types.get('Segment')?.decode(Buffer.alloc(0));
    expect(segment).to.include({ path: '', bytes: 0, timeFirst: 0n, hasLate: false });
    expect(types.get('WriteRequest')?.decode(Buffer.alloc(0))).to.deep.include({ batch: new Uint8Array(0) });
    const table = types.get('Table')?.decode(Buffer.alloc(0));
    expect(table).to.deep.include({ columns: [], options: {}, primaryKey: [] });
    expect(types.get('ScanChunk')?.decode(Buffer.alloc(0))).not.to.have.property('newerManifest');
    expect(types.get('SqlRequest')?.decode(Buffer.alloc(0))).not.to.have.property('limit');
  });

  it('returns large bytes as a view, small ones beside them as copies', () => {
    const type = types.get('WriteRequest') ?? expect.fail();
    const empty = type.decode(Buffer.alloc(0));
    const bytes = type.encode({ ...empty, batchId: new Uint8Array(16), batch: new Uint8Array(1 << 20) });
    const { batch, batchId } = type.decode(bytes) as { batch: Uint8Array; batchId: Uint8Array };
    expect(batch.buffer).to.equal(bytes.buffer);
    expect(batchId.buffer).to.have.property('byteLength', 16);
    expect(batch.constructor).to.equal(Uint8Array);
  });

  it('keeps a map entry of any name', () => {
    const type = types.get('Database') ?? expect.fail();
    const options = Object.fromEntries([['__proto__', 'x']]);
    const { options: read } = type.decode(type.encode({ databaseId: 1, name: 'd', options })) as { options: object };
    expect(Object.entries(read)).to.deep.equal([['__proto__', 'x']]);
  });

  it('skips unknown fields', () => {
    const known = types.get('FlushTableRequest') ?? expect.fail();
    // Fields 9 (varint), 10 (8 bytes), 11 (length 1), 12 (4 bytes), then 1.
    const bytes = Buffer.from('48ff0151010203040506070 85a01aa6501020304 0807'.replaceAll(' ', ''), 'hex');
    expect(known.decode(bytes)).to.deep.equal({ tableId: 7, regionIds: [] });
  });

  it('refuses more parts than memory could hold', () => {
    const type = types.get('ListTablesResponse') ?? expect.fail();
    // Empty tables, two bytes each.
    const tables = (count: number): Buffer => Buffer.alloc(2 * count, Buffer.from([0x0a, 0x00]));
    expect(type.decode(tables(1_000)))
      .to.have.property('tables')
      .with.length(1_000);
    expect(() => type.decode(tables(2_000_000))).to.throw('a message has more than 1048576 parts');
  });

  it('refuses truncated and invalid bytes, without any other effect', () => {
    const type = types.get('Table') ?? expect.fail();
    const check = (bytes: Uint8Array): void => {
      try {
        type.decode(Buffer.from(bytes));
      } catch (error) {
        expect(error).to.be.instanceOf(AlmanacError);
        expect((error as AlmanacError).code).to.equal('unexpected');
      }
    };
    fc.assert(fc.property(fc.uint8Array(), check), { numRuns: 1000 });
    const property = fc.property(message(type), fc.nat(), (value, at) => {
      const bytes = type.encode(value);
      check(bytes.subarray(0, bytes.length === 0 ? 0 : at % bytes.length));
    });
    fc.assert(property, { numRuns: 300 });
    expect(() => type.decode(Buffer.from([0x12, 0x05, 0x61]))).to.throw('the message is malformed');
    expect(() => type.decode(Buffer.from([0x0b]))).to.throw('the message is malformed');
    expect(() => type.decode(Buffer.alloc(11, 0xff))).to.throw('the message is malformed');
  });
});

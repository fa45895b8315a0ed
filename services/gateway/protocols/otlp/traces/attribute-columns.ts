import { hasBytes } from '#shared/bytes/equal';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { WireReader } from '#shared/protobuf/wire-reader';
import type { TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { dataType } from '#shared/schema/data-type';
import { checkColumnName } from '#shared/schema/names';

import { integerText, JsonWriter, notUtf8 } from '../../common/json-writer.js';
import type { RequestRows } from '../../common/request-rows.js';
import { isUtf8Range } from '#shared/bytes/utf8';
import { AnyValue, AnyValueKind, writeValue, type AttributePositions } from '../any-value.js';
import { semanticType } from './semantic-types.js';

/** Types of scalars in the order in which a new column tries them. */
const SCALARS = ['Boolean', 'Int64', 'Float64', 'String'] as const;
const FLOAT64 = dataType('Float64');
const TYPES_OF_KINDS = ['', 'String', 'Boolean', 'Int64', 'Float64', 'Json', 'Json', 'Binary'];
const INTEGER = /^[-+]?[0-9]{1,19}$/;
const NUMBER = /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const TWO_TO_32 = 4_294_967_296;

/** A column of attributes in one request. */
interface AttributeColumn {
  readonly name: string;
  /** The attribute's key. */
  readonly key: Buffer;
  readonly field: FieldBuilder;
  /** Whether the table or the meaning of the attribute decides the type, and not its values. */
  readonly isFixed: boolean;
  /** Whether integers become doubles where there are fractions, also in the table: clients send 1.0 as an integer. */
  readonly mayWiden: boolean;
}

/** Attributes of one owner, whose columns share a prefix. */
class AttributeGroup {
  readonly prefix: string;
  readonly byKey = new Map<string, AttributeColumn>();
  /** The columns of the attributes of the last row, by position: spans of one kind have the same keys in the same order. */
  readonly expected: AttributeColumn[] = [];

  constructor(prefix: string) {
    this.prefix = prefix;
  }
}

/** Whose attributes they are. */
export type AttributeOwner = 'span' | 'scope' | 'resource';

/** An attribute of a resource or scope, which is the same for all of its spans. */
export interface SharedAttribute {
  readonly column: AttributeColumn;
  readonly value: AnyValue;
}

/**
 * The columns of attributes of one request: the first value of a new column decides its type, and `types` where a value
 * did not fit in an earlier attempt.
 */
export class AttributeColumns {
  /** Types that a further attempt to decode the request must use; it is needed if there are any that were not given. */
  readonly types: Map<string, string>;
  isRepeatNeeded = false;
  readonly #rows: RequestRows;
  readonly #builder: TableBuilder;
  readonly #existing: ReadonlyMap<string, string>;
  readonly #groups = {
    span: new AttributeGroup('span_attributes.'),
    scope: new AttributeGroup('scope_attributes.'),
    resource: new AttributeGroup('resource_attributes.'),
  };
  readonly #value = new AnyValue();
  readonly #json = new JsonWriter();

  /** @param types of columns, from an earlier attempt. */
  constructor(rows: RequestRows, builder: TableBuilder, table: Table | undefined, types: Map<string, string>) {
    this.#rows = rows;
    this.#builder = builder;
    this.#existing = new Map((table?.columns ?? []).map(({ name, type }) => [name, type]));
    this.types = types;
  }

  /** Sets the span's own attributes in the current row. @returns why the row must be rejected; empty if it is not. */
  setOwn(reader: WireReader, { at }: AttributePositions): string {
    const row = this.#builder.rowCount;
    const value = this.#value;
    const group = this.#groups.span;
    for (let i = 0; i < at.length; i += 4) {
      value.read(reader, at[i + 2], at[i + 3]);
      if (value.kind === AnyValueKind.none) continue;
      const expected = group.expected[i >> 2] as AttributeColumn | undefined;
      const isExpected = expected !== undefined && hasBytes(reader.bytes, at[i], at[i + 1], expected.key);
      const column = isExpected ? expected : this.#columnOf(reader, group, value, at[i], at[i + 1]);
      if (!isExpected) group.expected[i >> 2] = column;
      const problem = this.#set(reader, column, value, row);
      if (problem !== '') return problem;
    }
    return '';
  }

  /** Reads attributes for `setShared`, but for one. @param skipped its key. */
  shared(reader: WireReader, owner: AttributeOwner, { at }: AttributePositions, skipped = ''): SharedAttribute[] {
    const attributes: SharedAttribute[] = [];
    for (let i = 0; i < at.length; i += 4) {
      if (reader.bytes.toString('latin1', at[i], at[i + 1]) === skipped) continue;
      const value = new AnyValue();
      value.read(reader, at[i + 2], at[i + 3]);
      if (value.kind === AnyValueKind.none) continue;
      attributes.push({ column: this.#columnOf(reader, this.#groups[owner], value, at[i], at[i + 1]), value });
    }
    return attributes;
  }

  /** Sets the attributes of a resource or scope in the current row. @returns as `setOwn`. */
  setShared(reader: WireReader, attributes: readonly SharedAttribute[]): string {
    const row = this.#builder.rowCount;
    for (const { column, value } of attributes) {
      const problem = this.#set(reader, column, value, row);
      if (problem !== '') return problem;
    }
    return '';
  }

  #columnOf(reader: WireReader, group: AttributeGroup, value: AnyValue, from: number, to: number): AttributeColumn {
    const key = reader.bytes.toString('latin1', from, to);
    const known = group.byKey.get(key);
    if (known !== undefined) return known;
    if (!isUtf8Range(reader.bytes, from, to)) throw notUtf8();
    const name = group.prefix + reader.bytes.toString('utf8', from, to);
    checkColumnName(name);
    const meant = semanticType(name);
    const fixed = this.#existing.get(name) ?? meant;
    const type = fixed ?? this.types.get(name) ?? TYPES_OF_KINDS[value.kind];
    const field = this.#rows.columnFor(this.#builder, name, dataType(type));
    if (field === undefined) throw new AlmanacError('invalid_arguments', 'request has too many attributes');
    const column = {
      name,
      key: reader.bytes.subarray(from, to),
      field,
      isFixed: fixed !== undefined,
      mayWiden: meant === undefined,
    };
    group.byKey.set(key, column);
    return column;
  }

  #set(reader: WireReader, column: AttributeColumn, value: AnyValue, row: number): string {
    const { field } = column;
    if (TYPES_OF_KINDS[value.kind] !== field.type.name) return this.#convert(reader, column, value, row);
    this.#setSame(reader, field, value, row);
    return '';
  }

  #setSame(reader: WireReader, field: FieldBuilder, value: AnyValue, row: number): void {
    const { kind, from, to, low, high, double } = value;
    const { bytes } = reader;
    switch (kind) {
      case AnyValueKind.text:
        if (!isUtf8Range(bytes, from, to)) throw notUtf8();
        return field.setBytes(row, bytes, from, to);
      case AnyValueKind.boolean:
        return field.setNumber(row, (low | high) === 0 ? 0 : 1);
      case AnyValueKind.integer:
        return setInteger(field, row, low, high);
      case AnyValueKind.double:
        return field.setNumber(row, double);
      case AnyValueKind.bytes:
        return field.setBytes(row, bytes, from, to);
      default:
        this.#json.clear();
        writeValue(reader, value, this.#json);
        return field.setBytes(row, this.#json.bytes, 0, this.#json.length);
    }
  }

  /** Sets a value of another type than that of its column. */
  #convert(reader: WireReader, column: AttributeColumn, value: AnyValue, row: number): string {
    const { name, field, isFixed, mayWiden } = column;
    const type = field.type.name;
    const given = TYPES_OF_KINDS[value.kind];
    const text = scalarText(reader, value);
    const refusal = `attribute "${name}" has type ${given}, which does not fit ${type}`;
    if (text === undefined || !isScalar(type)) return refusal;
    if (mayWiden && type === 'Int64' && given === 'Float64') {
      // Integers are held as doubles until the request is complete.
      field.type = FLOAT64;
      field.setNumber(row, value.double);
      return '';
    }
    const isFirstGuess = type === 'String' && !this.types.has(name);
    if (!isFixed && isFirstGuess && given !== 'String') return this.#repeatWith(name, given);
    if (!canBecome(text, given, type)) {
      if (isFixed) return refusal;
      const next = SCALARS.slice(SCALARS.indexOf(type) + 1).find((other) => canBecome(text, given, other)) ?? 'String';
      return this.#repeatWith(name, next);
    }
    setConverted(field, row, text);
    return '';
  }

  #repeatWith(name: string, type: string): string {
    this.types.set(name, type);
    this.isRepeatNeeded = true;
    return '';
  }
}

function setConverted(field: FieldBuilder, row: number, text: string): void {
  const type = field.type.name;
  if (type === 'String') field.setText(row, text);
  else if (type === 'Boolean') field.setNumber(row, text === 'true' ? 1 : 0);
  else if (type === 'Float64') field.setNumber(row, Number(text));
  else field.setBigInt(row, BigInt(text));
}

function setInteger(field: FieldBuilder, row: number, low: number, high: number): void {
  const near = high * TWO_TO_32 + (low >>> 0);
  if (Number.isSafeInteger(near)) field.setNumber(row, near);
  else field.setBigInt(row, (BigInt(high) << 32n) | BigInt(low >>> 0));
}

function isScalar(type: string): type is (typeof SCALARS)[number] {
  return (SCALARS as readonly string[]).includes(type);
}

function scalarText({ bytes }: WireReader, { kind, from, to, low, high, double }: AnyValue): string | undefined {
  switch (kind) {
    case AnyValueKind.text:
      if (!isUtf8Range(bytes, from, to)) throw notUtf8();
      return bytes.toString('utf8', from, to);
    case AnyValueKind.boolean:
      return (low | high) === 0 ? 'false' : 'true';
    case AnyValueKind.integer:
      return integerText(low, high);
    case AnyValueKind.double:
      return String(double);
    default:
      return undefined;
  }
}

/** Whether a value, as text, can be stored in a column of a type. @param given its own type. */
function canBecome(text: string, given: string, type: (typeof SCALARS)[number]): boolean {
  if (given === type || type === 'String') return true;
  if (given === 'Int64') return type === 'Float64';
  if (given !== 'String') return false;
  if (type === 'Boolean') return text === 'true' || text === 'false';
  if (type === 'Float64') return NUMBER.test(text);
  return INTEGER.test(text) && BigInt(text) >= INT64_MIN && BigInt(text) <= INT64_MAX;
}

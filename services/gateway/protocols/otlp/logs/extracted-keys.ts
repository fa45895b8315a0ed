import { isUtf8Range } from '#shared/bytes/utf8';
import type { Table } from '#shared/contracts/gen/common';
import type { WireReader } from '#shared/protobuf/wire-reader';
import type { TableBuilder } from '#shared/rowbatch/builder';
import type { Tag } from '#shared/rowbatch/series-key';

import { integerText, notUtf8 } from '../../common/json-writer.js';
import { AnyValue, AnyValueKind, type AttributePositions } from '../any-value.js';
import { LOG_TABLE_COLUMNS, LOG_TIME } from './columns.js';

/** Largest number of attributes that become columns. */
const KEYS_MAX = 100;

const STANDARD = new Set([LOG_TIME, ...LOG_TABLE_COLUMNS.map(({ name }) => name)]);

/** An attribute that becomes a column. */
interface ExtractedKey {
  readonly column: string;
  readonly lowerCase: string;
  /** Type of the field; undefined if the column is a tag. */
  readonly fieldType: string | undefined;
}

/** Returns the names of a header, sorted, without repeats and without columns that every table of logs has. */
export function extractedNames(header: string | undefined): readonly string[] {
  const names = (header ?? '').split(',').map((name) => name.trim());
  return [...new Set(names)]
    .filter((name) => name !== '' && !STANDARD.has(name))
    .sort()
    .slice(0, KEYS_MAX);
}

/**
 * Attributes of records that become columns: tags of a new table, but fields of one that exists without them, since the
 * tags of a table of logs stay what they are.
 */
export class ExtractedKeys {
  readonly #keys: readonly ExtractedKey[];
  readonly #value = new AnyValue();
  /** Values of the current record for the fields. */
  readonly #fields = new Map<string, { readonly type: string; readonly text: string }>();

  /** @param table the table of the logs, if it exists. */
  constructor(names: readonly string[], table: Table | undefined) {
    this.#keys = names.map((column) => {
      const existing = table?.columns.find(({ name }) => name === column);
      const isTag = existing === undefined ? table === undefined : existing.kind === 'tag';
      return { column, lowerCase: column.toLowerCase(), fieldType: isTag ? undefined : (existing?.type ?? '') };
    });
  }

  /**
   * Finds the values of the keys for one record; returns those that are tags, and keeps the others for `setFields`.
   *
   * @param lists the attributes of the record, of its scope and of its resource: the first with a key counts.
   * @returns a text if the record is to be rejected.
   */
  find(reader: WireReader, lists: readonly AttributePositions[]): readonly Tag[] | string {
    this.#fields.clear();
    const tags: Tag[] = [];
    for (const { column, lowerCase, fieldType } of this.#keys) {
      const text = this.#textOf(reader, lowerCase, lists);
      if (text === undefined) continue;
      if (typeof text !== 'string') {
        return `attribute "${column}" is no text, integer or boolean: it cannot be a column`;
      }
      if (fieldType === undefined) {
        if (text !== '') tags.push({ name: column, value: Buffer.from(text) });
      } else {
        this.#fields.set(column, { type: fieldTypeFor(fieldType, this.#value.kind), text });
      }
    }
    return tags;
  }

  /** Sets the fields of the record whose values were found last. */
  setFields(table: TableBuilder, row: number): void {
    for (const [column, { type, text }] of this.#fields) {
      const field = table.field(column, type);
      if (field.type.name === 'Int64') field.setBigInt(row, BigInt(text));
      else if (field.type.name === 'Boolean') field.setNumber(row, text === 'true' ? 1 : 0);
      else field.setText(row, text);
    }
  }

  /** Returns the value as text; undefined if there is none, null if it is of another type. */
  #textOf(reader: WireReader, lowerCase: string, lists: readonly AttributePositions[]): string | null | undefined {
    const { bytes } = reader;
    for (const { at } of lists) {
      for (let i = 0; i < at.length; i += 4) {
        if (at[i + 1] - at[i] !== lowerCase.length) continue;
        if (bytes.toString('utf8', at[i], at[i + 1]).toLowerCase() !== lowerCase) continue;
        const value = this.#value;
        value.read(reader, at[i + 2], at[i + 3]);
        return scalarText(reader, value);
      }
    }
    return undefined;
  }
}

function scalarText({ bytes }: WireReader, { kind, from, to, low, high }: AnyValue): string | null | undefined {
  switch (kind) {
    case AnyValueKind.none:
      return undefined;
    case AnyValueKind.text:
      if (!isUtf8Range(bytes, from, to)) throw notUtf8();
      return bytes.toString('utf8', from, to);
    case AnyValueKind.integer:
      return integerText(low, high);
    case AnyValueKind.boolean:
      return (low | high) === 0 ? 'false' : 'true';
    default:
      return null;
  }
}

/** Returns the type in which a value is stored in a field; scalars go into columns of text. */
function fieldTypeFor(existing: string, kind: AnyValueKind): string {
  if (existing === 'String') return existing;
  if (kind === AnyValueKind.integer) return 'Int64';
  return kind === AnyValueKind.boolean ? 'Boolean' : 'String';
}

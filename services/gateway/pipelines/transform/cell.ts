import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { canonicalText, type CellColumn } from '#shared/write/cell-value';

import { Held, type HeldField, type Item } from '../item.js';

/** The value of one column, as a pipeline has found it: null, a number, a bigint, bytes or text. */
export class ColumnCell implements HeldField {
  kind: Held = Held.null;
  low = 0;
  high = 0;
  other: unknown = undefined;

  setNull(): void {
    this.kind = Held.null;
  }

  /** Sets an integer that a double holds exactly, a float, or a boolean as 0 or 1. */
  setNumber(value: number): void {
    this.kind = Held.float;
    this.low = value;
  }

  setBigInt(value: bigint): void {
    const near = Number(value);
    if (Number.isSafeInteger(near)) return this.setNumber(near);
    this.kind = Held.bigint;
    this.other = value;
  }

  setText(text: string): void {
    this.kind = Held.text;
    this.other = text;
  }

  /** Sets the text of a field, which must be a string. */
  setTextOf(item: Item, slot: number): void {
    this.kind = item.kinds[slot];
    this.low = item.low[slot];
    this.high = item.high[slot];
    this.other = item.other[slot];
  }

  /** Writes the value to a column. */
  write(field: FieldBuilder, row: number): void {
    switch (this.kind) {
      case Held.bytes:
        return field.setBytes(row, this.other as Uint8Array, this.low, this.high);
      case Held.text:
        return field.setText(row, this.other as string);
      case Held.bigint:
        return field.setBigInt(row, this.other as bigint);
      case Held.float:
        return field.setNumber(row, this.low);
      default:
    }
  }

  /** Returns an integer. */
  toBigInt(): bigint {
    return this.kind === Held.bigint ? (this.other as bigint) : BigInt(this.low);
  }

  /** Returns a copy of the text that identifies the value among tags. */
  tagText(column: CellColumn): Uint8Array {
    switch (this.kind) {
      case Held.bytes:
        return Buffer.from((this.other as Uint8Array).subarray(this.low, this.high));
      case Held.text:
        return Buffer.from(this.other as string);
      case Held.bigint:
        return canonicalText(column, this.other as bigint);
      default:
        return canonicalText(column, column.type.storage === 'bool' ? this.low === 1 : this.low);
    }
  }
}

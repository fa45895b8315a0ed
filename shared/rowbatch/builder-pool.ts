import { dataType } from '#shared/schema/data-type';
import { isBytes } from './column.js';
import { FieldBuilder } from './field-builder.js';

const FIRST_CAPACITY = 16;

/** Arrays for the series and time of each row of a batch, and for the series IDs. */
export class RowStorage {
  readonly capacity: number;
  readonly seriesIndex: Uint32Array<ArrayBuffer>;
  readonly times: BigInt64Array<ArrayBuffer>;
  /** The same memory as `times`: low and high word of each. */
  readonly timeWords: Int32Array<ArrayBuffer>;
  readonly tsids: BigUint64Array<ArrayBuffer>;
  /** The same memory as `tsids`. */
  readonly tsidWords: Int32Array<ArrayBuffer>;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.seriesIndex = new Uint32Array(capacity);
    this.times = new BigInt64Array(capacity);
    this.timeWords = new Int32Array(this.times.buffer);
    this.tsids = new BigUint64Array(capacity);
    this.tsidWords = new Int32Array(this.tsids.buffer);
  }

  /** Returns a larger storage with the same rows. */
  grown(): RowStorage {
    const larger = new RowStorage(Math.max(FIRST_CAPACITY, this.capacity * 2));
    larger.seriesIndex.set(this.seriesIndex);
    larger.times.set(this.times);
    larger.tsids.set(this.tsids);
    return larger;
  }

  get capacityBytes(): number {
    return this.seriesIndex.byteLength + this.times.byteLength + this.tsids.byteLength;
  }
}

/**
 * Keeps arrays of finished batches for the next ones, up to a number of bytes.
 *
 * Growing the arrays of a batch of 100 rows and 10 columns from empty takes a third of the time of decoding it.
 */
export class BuilderPool {
  readonly #limitBytes: number;
  #bytes = 0;
  readonly #rows: RowStorage[] = [];
  readonly #numberFields: FieldBuilder[] = [];
  readonly #bytesFields: FieldBuilder[] = [];

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  takeRows(): RowStorage {
    const rows = this.#rows.pop();
    if (rows === undefined) return new RowStorage(FIRST_CAPACITY);
    this.#bytes -= rows.capacityBytes;
    return rows;
  }

  giveRows(rows: RowStorage): void {
    if (this.#keep(rows.capacityBytes)) this.#rows.push(rows);
  }

  takeField(name: string, type: string): FieldBuilder {
    const known = dataType(type);
    const field = (isBytes(known.storage) ? this.#bytesFields : this.#numberFields).pop();
    if (field === undefined) return new FieldBuilder(name, type);
    this.#bytes -= field.capacityBytes;
    field.restart(name, known);
    return field;
  }

  giveField(field: FieldBuilder): void {
    field.restart('', field.type);
    if (this.#keep(field.capacityBytes)) (field.isBytes ? this.#bytesFields : this.#numberFields).push(field);
  }

  #keep(bytes: number): boolean {
    // Empty arrays are not worth keeping, and their number would be unbounded.
    if (bytes === 0 || this.#bytes + bytes > this.#limitBytes) return false;
    this.#bytes += bytes;
    return true;
  }
}

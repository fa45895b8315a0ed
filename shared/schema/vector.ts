import { AlmanacError } from '#shared/errors/almanac-error';

/** Greatest dimension of a vector. */
export const VECTOR_DIMENSION_MAX = 65_536;
const FLOAT_BYTES = 4;

/**
 * Parses `[1.0, 2.5]` to the stored form of a vector: its elements as little-endian 32-bit floats.
 *
 * @param dimension the number of elements that are expected; undefined: any.
 * @throws `invalid_arguments`.
 */
export function parseVector(text: string, dimension?: number): Buffer {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[') || !trimmed.endsWith(']')) throw invalid(text, 'not properly enclosed in brackets');
  const inner = trimmed.slice(1, -1).trim();
  const parts = inner === '' ? [] : inner.split(',');
  if (parts.length > VECTOR_DIMENSION_MAX) throw invalid(text, `more than ${VECTOR_DIMENSION_MAX} elements`);
  if (dimension !== undefined && parts.length !== dimension) throw invalid(text, 'wrong dimension');
  return bytesOfVector(parts.map((part) => elementOf(part.trim(), text)));
}

function elementOf(part: string, text: string): number {
  const value = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(part) ? Math.fround(Number(part)) : NaN;
  if (!Number.isFinite(value)) throw invalid(text, 'elements are not all float32');
  return value;
}

function invalid(text: string, reason: string): AlmanacError {
  const shown = text.length > 100 ? `${text.slice(0, 100)}..` : text;
  return new AlmanacError('invalid_arguments', `Invalid Vector: Failed to parse ${shown} to Vector value: ${reason}`);
}

/** Returns the stored form of a vector. */
export function bytesOfVector(elements: readonly number[] | Float32Array): Buffer {
  const bytes = Buffer.alloc(elements.length * FLOAT_BYTES);
  for (let i = 0; i < elements.length; i++) bytes.writeFloatLE(elements[i], i * FLOAT_BYTES);
  return bytes;
}

/** Returns the elements of a stored vector. @throws `execute_query` if the bytes are none. */
export function elementsOfVector(bytes: Uint8Array): Float32Array {
  if (bytes.length % FLOAT_BYTES !== 0) {
    throw new AlmanacError('execute_query', `binary value of ${bytes.length} bytes is no vector`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements = new Float32Array(bytes.length / FLOAT_BYTES);
  for (let i = 0; i < elements.length; i++) elements[i] = view.getFloat32(i * FLOAT_BYTES, true);
  return elements;
}

/** Returns the shortest text of a 32-bit float: `1.99`, not `1.9900000095367432`. */
export function float32Digits(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

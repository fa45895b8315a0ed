import type { Cell } from '#shared/duckdb/chunk-reader';
import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';
import { bytesOfVector, elementsOfVector, float32Digits, parseVector } from '#shared/schema/vector';

/** Returns the name of the row function of a function of vectors. */
export function vectorFunction(name: string): string {
  return `almanac_${name}`;
}

const ofPair = (name: string, compute: (left: Float32Array, right: Float32Array) => number): RowFunction => ({
  name: vectorFunction(name),
  parameters: ['binary', 'binary'],
  returns: 'float',
  compute: (left, right) => compute(...pairOf(name, left, right)),
});

const elementwise = (name: string, compute: (left: number, right: number) => number): RowFunction => ({
  name: vectorFunction(name),
  parameters: ['binary', 'binary'],
  returns: 'binary',
  compute: (left, right) => combined(pairOf(name, left, right), compute),
});

const withScalar = (name: string, compute: (element: number, scalar: number) => number): RowFunction => ({
  name: vectorFunction(name),
  parameters: ['float', 'binary'],
  returns: 'binary',
  compute: (scalar, vector) => bytesOfVector(elements(vector).map((it) => compute(it, scalar as number))),
});

const ofElements = (name: string, compute: (vector: Float32Array) => number | null): RowFunction => ({
  name: vectorFunction(name),
  parameters: ['binary'],
  returns: 'float',
  compute: (vector) => compute(elements(vector)),
});

/** Functions of vectors, whose stored form are the bytes of 32-bit floats. */
export const VECTOR_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: vectorFunction('parse_vec'),
    parameters: ['text'],
    returns: 'binary',
    compute: (text) => parseVector(text as string),
  },
  {
    name: vectorFunction('vec_to_string'),
    parameters: ['binary'],
    returns: 'text',
    compute: (vector) => `[${[...elements(vector)].map(float32Digits).join(',')}]`,
  },
  { name: vectorFunction('vec_dim'), parameters: ['binary'], returns: 'int', compute: (vector) => dimension(vector) },
  {
    name: vectorFunction('vec_kth_elem'),
    parameters: ['binary', 'int'],
    returns: 'float',
    compute: (vector, k) => elementAt(elements(vector), Number(k)),
  },
  {
    name: vectorFunction('vec_subvector'),
    parameters: ['binary', 'int', 'int'],
    returns: 'binary',
    compute: (vector, from, to) => slice(elements(vector), Number(from), Number(to)),
  },
  {
    name: vectorFunction('vec_norm'),
    parameters: ['binary'],
    returns: 'binary',
    compute: (vector) => normalized(elements(vector)),
  },
  ofPair('vec_dot_product', dot),
  ofPair('vec_l2sq_distance', (left, right) => left.reduce((sum, it, i) => sum + (it - right[i]) ** 2, 0)),
  ofPair('vec_cos_distance', cosineDistance),
  elementwise('vec_add', (left, right) => left + right),
  elementwise('vec_sub', (left, right) => left - right),
  elementwise('vec_mul', (left, right) => left * right),
  elementwise('vec_div', (left, right) => left / right),
  withScalar('vec_scalar_add', (element, scalar) => element + scalar),
  withScalar('vec_scalar_mul', (element, scalar) => element * scalar),
  ofElements('vec_elem_sum', sumOf),
  ofElements('vec_elem_product', (vector) => vector.reduce((product, it) => product * it, 1)),
  ofElements('vec_elem_avg', (vector) => (vector.length === 0 ? null : sumOf(vector) / vector.length)),
];

function elements(vector: Cell): Float32Array {
  return elementsOfVector(vector as Uint8Array);
}

function pairOf(name: string, left: Cell, right: Cell): [Float32Array, Float32Array] {
  const pair: [Float32Array, Float32Array] = [elements(left), elements(right)];
  if (pair[0].length === pair[1].length) return pair;
  throw new AlmanacError('execute_query', `vectors length not match: ${name}`);
}

function combined([left, right]: [Float32Array, Float32Array], compute: (a: number, b: number) => number): Buffer {
  return bytesOfVector(left.map((it, i) => compute(it, right[i])));
}

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += left[i] * right[i];
  return sum;
}

/** One minus the cosine of the angle; 1 if a vector is zero. */
function cosineDistance(left: Float32Array, right: Float32Array): number {
  const norms = Math.sqrt(dot(left, left) * dot(right, right));
  return norms === 0 ? 1 : 1 - dot(left, right) / norms;
}

function sumOf(vector: Float32Array): number {
  return vector.reduce((sum, it) => sum + it, 0);
}

function dimension(vector: Cell): bigint {
  return BigInt(elements(vector).length);
}

function elementAt(vector: Float32Array, k: number): number {
  if (k >= 0 && k < vector.length) return vector[k];
  throw new AlmanacError('execute_query', `vec_kth_elem: index ${k} is not within 0 to ${vector.length - 1}`);
}

function slice(vector: Float32Array, from: number, to: number): Buffer {
  if (from >= 0 && from <= to && to <= vector.length) return bytesOfVector(vector.slice(from, to));
  throw new AlmanacError('execute_query', `vec_subvector: range ${from} to ${to} is not within 0 to ${vector.length}`);
}

function normalized(vector: Float32Array): Buffer {
  const norm = Math.sqrt(dot(vector, vector));
  return bytesOfVector(norm === 0 ? vector : vector.map((it) => it / norm));
}

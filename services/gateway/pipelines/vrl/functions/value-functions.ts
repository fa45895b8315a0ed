import { createHash } from 'node:crypto';

import { systemRandom } from '#shared/clock/random';

import { percentDecode, percentEncode } from '../../processors/urlencoding.js';
import { printFloat } from '../../values/float-text.js';
import { Timestamp } from '../../values/timestamp.js';
import { ScriptFailure } from '../machine.js';
import { Kinds } from '../types.js';
import { integerOf } from './coercions.js';
import { defineFunctions, type Parameter, type ScriptFunction } from './script-function.js';

const text: Parameter = { name: 'value', kinds: Kinds.string };
const number: Parameter = { name: 'value', kinds: Kinds.number };
const precision: Parameter = { name: 'precision', kinds: Kinds.integer, isOptional: true };
const optionalText = (name: string): Parameter => ({ name, kinds: Kinds.string, isOptional: true });

const SHA2 = new Map([
  ['SHA-224', 'sha224'],
  ['SHA-256', 'sha256'],
  ['SHA-384', 'sha384'],
  ['SHA-512', 'sha512'],
  ['SHA-512/224', 'sha512-224'],
  ['SHA-512/256', 'sha512-256'],
]);
const SHA3 = new Map(['224', '256', '384', '512'].map((bits) => [`SHA3-${bits}`, `sha3-${bits}`]));
function rounding(name: string, round: (value: number) => number): ScriptFunction {
  return {
    name,
    parameters: [number, precision],
    returns: ([type]) => (type?.kinds ?? Kinds.number) & Kinds.number,
    canFail: false,
    run: ([given, digits = 0n]) => {
      if (typeof given === 'bigint') return given;
      const scale = 10 ** Math.min(Math.max(Number(digits), 0), 15);
      return round((given as number) * scale) / scale;
    },
  };
}

function hash(name: string, algorithm: string): ScriptFunction {
  return {
    name,
    parameters: [text],
    returns: Kinds.string,
    canFail: false,
    run: ([given]) =>
      createHash(algorithm)
        .update(given as string)
        .digest('hex'),
  };
}

function variantHash(name: string, variants: ReadonlyMap<string, string>, byDefault: string): ScriptFunction {
  return {
    name,
    parameters: [text, optionalText('variant')],
    returns: Kinds.string,
    canFail: ([, variant]) => variant !== undefined,
    run: ([given, variant = byDefault]) =>
      createHash(algorithmOf(variants, variant as string))
        .update(given as string)
        .digest('hex'),
  };
}

function algorithmOf(variants: ReadonlyMap<string, string>, name: string): string {
  const algorithm = variants.get(name);
  if (algorithm === undefined) throw new ScriptFailure(`unknown algorithm "${name}"`);
  return algorithm;
}

function codec(name: string, canFail: boolean, run: (given: string) => string): ScriptFunction {
  return { name, parameters: [text], returns: Kinds.string, canFail, run: ([given]) => run(given as string) };
}

function decoded(given: string, encoding: 'hex' | 'base64'): string {
  const bytes = Buffer.from(given, encoding);
  const isWhole = encoding === 'hex' ? bytes.length * 2 === given.length : /^[A-Za-z0-9+/\-_]*={0,2}$/.test(given);
  if (!isWhole) throw new ScriptFailure(`unable to decode value from ${encoding === 'hex' ? 'base16' : 'base64'}`);
  return bytes.toString();
}

/** Functions of numbers, hashes, codecs, time and chance. */
export const VALUE_FUNCTIONS = defineFunctions([
  rounding('round', (value) => Math.sign(value) * Math.round(Math.abs(value))),
  rounding('ceil', Math.ceil),
  rounding('floor', Math.floor),
  {
    name: 'abs',
    parameters: [number],
    returns: ([type]) => (type?.kinds ?? Kinds.number) & Kinds.number,
    canFail: false,
    run: ([given]) =>
      typeof given === 'bigint' ? BigInt.asIntN(64, given < 0n ? -given : given) : Math.abs(given as number),
  },
  {
    name: 'mod',
    parameters: [number, { name: 'modulus', kinds: Kinds.number }],
    returns: Kinds.number,
    canFail: true,
    run: ([given, modulus]) => {
      if (Number(modulus) === 0) throw new ScriptFailure('failed to calculate remainder: modulus is zero');
      if (typeof given === 'bigint' && typeof modulus === 'bigint') return given % modulus;
      return Number(given) % Number(modulus);
    },
  },
  {
    name: 'format_number',
    parameters: [
      number,
      { name: 'scale', kinds: Kinds.integer, isOptional: true },
      optionalText('decimal_separator'),
      optionalText('grouping_separator'),
    ],
    returns: Kinds.string,
    canFail: false,
    run: ([given, scale, decimal = '.', grouping = '']) => {
      const plain = typeof given === 'bigint' ? String(given) : printFloat(given as number);
      const [whole, fraction = ''] = plain.split('.');
      const kept =
        scale === undefined ? fraction : fraction.slice(0, Number(scale)).padEnd(Math.min(Number(scale), 100), '0');
      const grouped = whole.replace(/\B(?=(\d{3})+$)/g, grouping as string);
      return kept === '' ? grouped : grouped + (decimal as string) + kept;
    },
  },
  {
    name: 'format_int',
    parameters: [
      { name: 'value', kinds: Kinds.integer },
      { name: 'base', kinds: Kinds.integer, isOptional: true },
    ],
    returns: Kinds.string,
    canFail: true,
    run: ([given, base = 10n]) => {
      const radix = Number(base);
      if (radix < 2 || radix > 36) throw new ScriptFailure('invalid base: must be between 2 and 36');
      return (given as bigint).toString(radix);
    },
  },
  hash('md5', 'md5'),
  hash('sha1', 'sha1'),
  variantHash('sha2', SHA2, 'SHA-512/256'),
  variantHash('sha3', SHA3, 'SHA3-512'),
  codec('encode_base16', false, (given) => Buffer.from(given).toString('hex')),
  codec('decode_base16', true, (given) => decoded(given, 'hex')),
  codec('encode_base64', false, (given) => Buffer.from(given).toString('base64')),
  codec('decode_base64', true, (given) => decoded(given, 'base64')),
  codec('encode_percent', false, percentEncode),
  codec('decode_percent', false, percentDecode),
  {
    name: 'now',
    parameters: [],
    returns: Kinds.timestamp,
    canFail: false,
    run: (_given, { nowNs }) => Timestamp.ofNs(nowNs),
  },
  {
    name: 'random_bool',
    parameters: [],
    returns: Kinds.boolean,
    canFail: false,
    run: () => systemRandom.fraction() < 0.5,
  },
  {
    name: 'random_int',
    parameters: [
      { name: 'min', kinds: Kinds.integer },
      { name: 'max', kinds: Kinds.integer },
    ],
    returns: Kinds.integer,
    canFail: true,
    run: ([min, max]) => {
      if ((max as bigint) <= (min as bigint)) throw new ScriptFailure('max must be greater than min');
      const span = Number((max as bigint) - (min as bigint));
      return (min as bigint) + integerOf(Math.floor(systemRandom.fraction() * span));
    },
  },
  {
    name: 'random_float',
    parameters: [
      { name: 'min', kinds: Kinds.float },
      { name: 'max', kinds: Kinds.float },
    ],
    returns: Kinds.float,
    canFail: true,
    run: ([min, max]) => {
      if ((max as number) <= (min as number)) throw new ScriptFailure('max must be greater than min');
      return (min as number) + systemRandom.fraction() * ((max as number) - (min as number));
    },
  },
]);

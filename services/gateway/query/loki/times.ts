import { AlmanacError } from '#shared/errors/almanac-error';

import { parseDuration } from '../prom-times.js';

const SECOND_NS = 1_000_000_000n;
const MS_NS = 1_000_000;
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/;
const FLOAT = /^([+-]?\d{1,15})\.(\d{1,18})$/;
const TIME_NS_MAX = 2n ** 63n - 1n;

/**
 * Parses a time in one of the forms of Loki: nanoseconds, seconds if there are at most ten digits, seconds with a
 * fraction, or RFC 3339. Returns nanoseconds.
 *
 * @throws `invalid_arguments`.
 */
export function parseLokiTime(text: string): bigint {
  const ns = timeNs(text);
  if (ns === undefined) {
    throw new AlmanacError('invalid_arguments', `cannot parse ${JSON.stringify(text)} to a valid time`);
  }
  return ns > TIME_NS_MAX ? TIME_NS_MAX : ns < -TIME_NS_MAX ? -TIME_NS_MAX : ns;
}

function timeNs(text: string): bigint | undefined {
  if (/^[+-]?\d{1,30}$/.test(text)) return BigInt(text) * (text.length <= 10 ? SECOND_NS : 1n);
  const float = FLOAT.exec(text);
  if (float !== null) {
    const below = BigInt(float[2].slice(0, 9).padEnd(9, '0'));
    return BigInt(float[1]) * SECOND_NS + (text.startsWith('-') ? -below : below);
  }
  if (/^[+-]?\d+(?:\.\d+)?[eE]\+?\d{1,2}$/.test(text)) return BigInt(Math.round(Number(text) * 1_000)) * BigInt(MS_NS);
  const date = RFC3339.exec(text);
  if (date === null) return undefined;
  const ms = Date.parse(date[1] + date[3]);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * BigInt(MS_NS) + BigInt((date[2] ?? '').padEnd(9, '0'));
}

/** Parses a duration such as `5m`, or seconds. Returns nanoseconds. @throws `invalid_arguments`. */
export function parseLokiDuration(text: string): bigint {
  const subMs = /^(\d{1,18})(ns|us|µs)$/.exec(text);
  if (subMs !== null) return BigInt(subMs[1]) * (subMs[2] === 'ns' ? 1n : 1_000n);
  return BigInt(Math.round(parseDuration(text) * MS_NS));
}

/** Returns the time of a sample, in seconds with up to three decimals. */
export function sampleSeconds(ns: bigint): string {
  const ms = ns / 1_000_000n;
  const text = (Number(ms) / 1_000).toFixed(3);
  return text.replace(/\.?0+$/, '');
}

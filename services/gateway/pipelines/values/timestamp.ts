import type { TimeUnit } from '#shared/schema/data-type';

const NS_PER_S = 1_000_000_000n;
/** Beyond this many seconds from 1970 there is no calendar date. */
const SECONDS_MAX = 8_640_000_000_000;

/** An instant: whole seconds since 1970, rounded down, and nanoseconds in `[0, 1e9)`. */
export class Timestamp {
  readonly seconds: number;
  readonly nanos: number;

  constructor(seconds: number, nanos: number) {
    this.seconds = seconds;
    this.nanos = nanos;
  }

  static ofNs(ns: bigint): Timestamp {
    const nanos = ((ns % NS_PER_S) + NS_PER_S) % NS_PER_S;
    return new Timestamp(Number((ns - nanos) / NS_PER_S), Number(nanos));
  }

  /** Nanoseconds since 1970; they may exceed 64 bits. */
  get ns(): bigint {
    return BigInt(this.seconds) * NS_PER_S + BigInt(this.nanos);
  }

  /** Whether the calendar has the date. */
  get isValid(): boolean {
    return Math.abs(this.seconds) <= SECONDS_MAX;
  }

  /** RFC 3339 with 0, 3, 6 or 9 digits of the fraction, in UTC. */
  text(): string {
    return `${rfc3339Seconds(this.seconds)}${fractionText(this.nanos)}Z`;
  }

  equals(other: Timestamp): boolean {
    return this.seconds === other.seconds && this.nanos === other.nanos;
  }
}

function rfc3339Seconds(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString().slice(0, -5);
  // The years -9999 to -1, and those after 9999, have six digits in JavaScript.
  return text.replace(/^([+-])00(\d{4})/, '$1$2');
}

/** Returns a fraction of a second with a dot and 3, 6 or 9 digits; empty for none. */
export function fractionText(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  if (digits.endsWith('000000')) return `.${digits.slice(0, 3)}`;
  return `.${digits.endsWith('000') ? digits.slice(0, 6) : digits}`;
}

const NS_PER: Readonly<Record<TimeUnit, bigint>> = { s: NS_PER_S, ms: 1_000_000n, us: 1_000n, ns: 1n };

/** Returns nanoseconds as a count of a unit, rounded down. */
export function timeCountOf(ns: bigint, unit: TimeUnit): bigint {
  const per = NS_PER[unit];
  const rest = ((ns % per) + per) % per;
  return (ns - rest) / per;
}

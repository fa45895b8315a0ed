import type { FlameData } from '../../widgets/flame/flame-data.js';

/** When a profile was taken, and of what. */
interface PprofFacts {
  /** Name of the values: `cpu` or `inuse_space`. */
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly takenMs: number;
  readonly durationMs: number;
}

/** Encodes a profile as pprof's message `Profile` (github.com/google/pprof, proto/profile.proto), not compressed. */
export function encodePprof(data: FlameData, { type, takenMs, durationMs }: PprofFacts): Uint8Array<ArrayBuffer> {
  const { unit, frames, stacks, values } = data;
  const strings = new Map<string, number>([['', 0]]);
  const text = (value: string): number => {
    const known = strings.get(value) ?? strings.size;
    strings.set(value, known);
    return known;
  };
  const profile = new Message();
  profile.message(1, new Message().integer(1, text(type)).integer(2, text(unit)));
  for (const [i, stack] of stacks.entries()) {
    // The innermost call comes first there.
    const locations = [...stack].reverse().map((frame) => frame + 1);
    profile.message(2, new Message().integers(1, locations).integers(2, [values[i]]));
  }
  for (const [i, { name, file, line }] of frames.entries()) {
    const id = i + 1;
    profile.message(4, new Message().integer(1, id).message(4, new Message().integer(1, id).integer(2, line)));
    const named = new Message().integer(1, id).integer(2, text(name)).integer(3, text(name));
    profile.message(5, named.integer(4, text(file)).integer(5, line));
  }
  const period = new Message().integer(1, text(type)).integer(2, text(unit));
  for (const value of strings.keys()) profile.bytes(6, new TextEncoder().encode(value));
  profile.integer(9, BigInt(Math.round(takenMs)) * 1_000_000n).integer(10, BigInt(Math.round(durationMs)) * 1_000_000n);
  return profile.message(11, period).encoded();
}

/** A message of protocol buffers, field by field. */
class Message {
  readonly #bytes: number[] = [];

  integer(field: number, value: number | bigint): this {
    this.#varint(BigInt(field * 8));
    this.#varint(BigInt(value));
    return this;
  }

  /** Adds a packed field. */
  integers(field: number, values: readonly number[]): this {
    const packed = new Message();
    for (const value of values) packed.#varint(BigInt(Math.round(value)));
    return this.message(field, packed);
  }

  message(field: number, inner: Message): this {
    return this.bytes(field, inner.#bytes);
  }

  bytes(field: number, bytes: ArrayLike<number>): this {
    this.#varint(BigInt(field * 8 + 2));
    this.#varint(BigInt(bytes.length));
    for (let i = 0; i < bytes.length; i++) this.#bytes.push(bytes[i]);
    return this;
  }

  encoded(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }

  /** Numbers are never negative here. */
  #varint(value: bigint): void {
    let rest = value;
    for (; rest > 127n; rest >>= 7n) this.#bytes.push(Number(rest & 127n) | 128);
    this.#bytes.push(Number(rest));
  }
}

import { gzipSync, gunzipSync } from 'node:zlib';

import {
  Function as PprofFunction,
  Location,
  Line,
  Profile as Pprof,
  Sample,
  StringTable,
  ValueType,
} from 'pprof-format';

import { AlmanacError } from '#shared/errors/almanac-error';

import { PROFILE_UNITS, ProfileBuilder, type Profile, type ProfileKind } from './stacks.js';

/** Names of the counts. */
const COUNTED: Readonly<Record<ProfileKind, string>> = {
  cpu: 'samples',
  inuse_space: 'inuse_objects',
  samples: 'samples',
};
/** Largest uncompressed profile that is read; its objects take up to eight times as much memory. */
const PLAIN_MIB_MAX = 64;

/** Encodes a profile in the format of pprof, gzipped. */
export function encodePprof(profile: Profile): Buffer {
  const strings = new StringTable();
  const typeOf = (type: string, unit: string): ValueType => {
    return new ValueType({ type: strings.dedup(type), unit: strings.dedup(unit) });
  };
  const { kind } = profile;
  const values = typeOf(kind, PROFILE_UNITS[kind]);
  const functions = profile.frames.map(({ name, file, line }, i) => {
    const text = strings.dedup(name);
    return new PprofFunction({
      id: i + 1,
      name: text,
      systemName: text,
      filename: strings.dedup(file),
      startLine: line,
    });
  });
  const location = profile.frames.map(({ line }, i) => {
    return new Location({ id: i + 1, line: [new Line({ functionId: i + 1, line })] });
  });
  const sample = profile.samples.map(({ stack, count, value }) => {
    // The innermost call comes first there.
    return new Sample({ locationId: stack.map((frame) => frame + 1).reverse(), value: [count, Math.round(value)] });
  });
  const encoded = new Pprof({
    sampleType: [typeOf(COUNTED[kind], 'count'), values],
    sample,
    location,
    function: functions,
    stringTable: strings,
    timeNanos: BigInt(Math.round(profile.startedMs)) * 1_000_000n,
    durationNanos: BigInt(Math.round(profile.durationMs)) * 1_000_000n,
    periodType: values,
    period: Math.round(profile.period),
  }).encode();
  return gzipSync(encoded);
}

/** Whether bytes begin as a gzipped profile does. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * Decodes a profile in the format of pprof, gzipped or not. Its last value is used.
 *
 * @throws `invalid_arguments` if it is malformed, or larger than 64 MiB uncompressed.
 */
export function decodePprof(bytes: Uint8Array): Profile {
  let pprof: Pprof;
  try {
    pprof = Pprof.decode(isGzip(bytes) ? gunzipSync(bytes, { maxOutputLength: PLAIN_MIB_MAX * 1024 * 1024 }) : bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new AlmanacError('invalid_arguments', `the profile has more than ${PLAIN_MIB_MAX} MiB uncompressed`);
    }
    throw new AlmanacError('invalid_arguments', 'not a profile in the format of pprof', { cause: error });
  }
  const text = (index: number | bigint): string => pprof.stringTable.strings[Number(index)] ?? '';
  const builder = new ProfileBuilder();
  const functions = new Map(pprof.function.map((it) => [Number(it.id), it]));
  const frames = new Map(
    pprof.location.map((location) => {
      const lines = location.line.map(({ functionId, line }) => {
        const found = functions.get(Number(functionId));
        const name = found === undefined ? `0x${BigInt(location.address).toString(16)}` : text(found.name);
        return builder.frame({
          name,
          file: text(found?.filename ?? 0),
          line: Number(found?.startLine ?? 0) || Number(line),
        });
      });
      return [Number(location.id), lines];
    }),
  );
  const last = Math.max(0, pprof.sampleType.length - 1);
  for (const { locationId, value } of pprof.sample) {
    // Of inlined calls at one location the innermost comes first.
    const stack = locationId.flatMap((id) => frames.get(Number(id)) ?? []).reverse();
    if (stack.length > 0) builder.add({ stack, count: Number(value[0] ?? 0), value: Number(value[last] ?? 0) });
  }
  const unit = text(pprof.sampleType[last]?.unit ?? 0);
  const kinds: Readonly<Record<string, ProfileKind>> = { nanoseconds: 'cpu', bytes: 'inuse_space' };
  const kind = Object.hasOwn(kinds, unit) ? kinds[unit] : 'samples';
  return builder.finish({
    kind,
    startedMs: Number(BigInt(pprof.timeNanos) / 1_000_000n),
    durationMs: Number(BigInt(pprof.durationNanos) / 1_000_000n),
    period: Number(pprof.period),
  });
}

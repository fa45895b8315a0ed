import { AlmanacError } from '#shared/errors/almanac-error';

import { decodePprof, isGzip } from './pprof.js';
import { ProfileBuilder, type Profile } from './stacks.js';
import {
  addCpuProfile,
  addHeapProfile,
  type FrameSource,
  type V8CpuProfile,
  type V8HeapProfile,
} from './v8-profile.js';

const FORMS = 'a V8 .heapprofile or .cpuprofile, a profile in the format of pprof, or collapsed stacks';

/**
 * Reads a profile in any of the forms that tools write.
 *
 * @throws `unsupported` for a dump of jemalloc, which has addresses of another program; `invalid_arguments` if it is none.
 */
export function readProfile(bytes: Uint8Array, sourceOf: FrameSource): Profile {
  const profile = profileOf(bytes, sourceOf);
  if (profile.samples.length > 0) return profile;
  throw new AlmanacError('invalid_arguments', `the profile has no samples; give ${FORMS}`);
}

function profileOf(bytes: Uint8Array, sourceOf: FrameSource): Profile {
  if (isGzip(bytes)) return decodePprof(bytes);
  const text = Buffer.from(bytes).toString();
  if (text.startsWith('heap_v2/') || text.startsWith('heap profile:')) {
    throw new AlmanacError('unsupported', `a heap dump of jemalloc or gperftools cannot be read; give ${FORMS}`);
  }
  if (text.trimStart().startsWith('{')) return fromJson(text, sourceOf);
  // Text has no zero bytes, and pprof does not begin with a letter.
  return /^[^\0]*$/.test(text) && COLLAPSED.test(text) ? fromCollapsed(text) : decodePprof(bytes);
}

/** The first line of collapsed stacks. */
const COLLAPSED = /^[^\n]+ [0-9]+(\r?\n|$)/;

function fromJson(text: string, sourceOf: FrameSource): Profile {
  let parsed: Partial<V8CpuProfile & V8HeapProfile>;
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch (error) {
    throw new AlmanacError('invalid_arguments', `neither JSON nor another profile; give ${FORMS}`, { cause: error });
  }
  const builder = new ProfileBuilder();
  try {
    if (parsed.head !== undefined) {
      addHeapProfile(builder, { head: parsed.head }, [], sourceOf);
      return builder.finish({ kind: 'inuse_space', startedMs: 0, durationMs: 0, period: 0 });
    }
    if (Array.isArray(parsed.nodes)) {
      addCpuProfile(builder, parsed as V8CpuProfile, { prefix: [], sourceOf });
      const durationMs = (Number(parsed.endTime) - Number(parsed.startTime)) / 1000;
      return builder.finish({ kind: 'cpu', startedMs: 0, durationMs: durationMs > 0 ? durationMs : 0, period: 0 });
    }
  } catch (error) {
    // A member that is missing or of another type.
    throw new AlmanacError('invalid_arguments', `the profile is incomplete; give ${FORMS}`, { cause: error });
  }
  throw new AlmanacError('invalid_arguments', `the JSON is no profile; give ${FORMS}`);
}

/** Reads lines of frames with a number, `main;run;work 42`. */
function fromCollapsed(text: string): Profile {
  const builder = new ProfileBuilder();
  for (const line of text.split('\n')) {
    const end = line.lastIndexOf(' ');
    const count = Number(line.slice(end + 1));
    if (end <= 0 || !Number.isSafeInteger(count)) continue;
    const frames = line
      .slice(0, end)
      .split(';')
      .map((name) => builder.frame({ name, file: '', line: 0 }));
    builder.add({ stack: frames, count, value: count });
  }
  return builder.finish({ kind: 'samples', startedMs: 0, durationMs: 0, period: 0 });
}

import type { CpuSamples } from './cpu-profiler.js';
import { HEAP_SAMPLE_BYTES, type HeapSamples } from './heap-sampler.js';
import { ProfileBuilder, type Frame, type Profile } from './stacks.js';
import { addCpuProfile, addHeapProfile, type FrameSource } from './v8-profile.js';

/** Joins the CPU samples of all threads; what native threads took is one frame beside them. */
export function cpuProfileOf(samples: CpuSamples, sourceOf: FrameSource): Profile {
  const builder = new ProfileBuilder();
  let seen = 0;
  for (const { name, profile, cpuNanos } of samples.threads) {
    seen += addCpuProfile(builder, profile, { prefix: [builder.frame(threadFrame(name))], sourceOf, cpuNanos });
  }
  const interval = samples.intervalMicros * 1000;
  const native = Math.max(0, samples.processNanos - seen);
  const frame = builder.frame(groupFrame('(native threads: engine, compression, file system, garbage collection)'));
  builder.add({ stack: [frame], count: Math.round(native / interval), value: native });
  return builder.finish({
    kind: 'cpu',
    startedMs: samples.startedMs,
    durationMs: samples.durationMs,
    period: interval,
  });
}

/** Joins the objects of all threads with the memory that is no object. */
export function heapProfileOf(samples: HeapSamples, sourceOf: FrameSource): Profile {
  const builder = new ProfileBuilder();
  for (const { name, profile } of samples.threads) {
    addHeapProfile(builder, profile, [builder.frame(threadFrame(name))], sourceOf);
  }
  for (const [name, bytes] of Object.entries(samples.native)) {
    builder.add({ stack: [builder.frame(groupFrame(name))], count: 1, value: bytes });
  }
  return builder.finish({ kind: 'inuse_space', startedMs: samples.takenMs, durationMs: 0, period: HEAP_SAMPLE_BYTES });
}

function threadFrame(name: string): Frame {
  return groupFrame(`thread ${name}`);
}

function groupFrame(name: string): Frame {
  return { name, file: '', line: 0 };
}

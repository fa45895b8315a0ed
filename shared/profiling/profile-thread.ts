/** The worker thread that joins, decodes and draws profiles (see `profile-worker.ts`). */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { CpuSamples } from './cpu-profiler.js';
import { flameGraph } from './flame-graph.js';
import type { HeapSamples } from './heap-sampler.js';
import { decodePprof, encodePprof } from './pprof.js';
import { cpuProfileOf, heapProfileOf } from './process-profile.js';
import { readProfile } from './profile-input.js';
import { profileJson } from './profile-json.js';
import { profileText } from './profile-text.js';
import { SourceNames } from './source-names.js';

/** Work on one profile. Results: pprof of samples, text, JSON or SVG otherwise. */
export type ProfileJob =
  | { readonly kind: 'cpu'; readonly samples: CpuSamples }
  | { readonly kind: 'heap'; readonly samples: HeapSamples }
  | { readonly kind: 'text'; readonly pprof: Uint8Array }
  | { readonly kind: 'json'; readonly pprof: Uint8Array }
  | { readonly kind: 'flame-graph'; readonly pprof: Uint8Array; readonly title: string }
  /** A flame graph of a file in any form. */
  | { readonly kind: 'symbol'; readonly file: Uint8Array; readonly title: string };

/** The result of a job, or why there is none: an error of `errors/codes.ts`. */
export type ProfileReply =
  { readonly bytes: Uint8Array } | { readonly code: AlmanacError['code']; readonly message: string };

function run(job: ProfileJob): Uint8Array {
  const folder = dirname(fileURLToPath(import.meta.url));
  // Compiled or bundled, this file is three folders below the sources.
  const names = new SourceNames(folder, dirname(dirname(dirname(folder))));
  switch (job.kind) {
    case 'cpu':
      return encodePprof(cpuProfileOf(job.samples, (frame) => names.frameOf(frame)));
    case 'heap':
      return encodePprof(heapProfileOf(job.samples, (frame) => names.frameOf(frame)));
    case 'text':
      return Buffer.from(profileText(decodePprof(job.pprof)));
    case 'json':
      return Buffer.from(profileJson(decodePprof(job.pprof)));
    case 'flame-graph':
      return Buffer.from(flameGraph(decodePprof(job.pprof), job.title));
    case 'symbol':
      return Buffer.from(
        flameGraph(
          readProfile(job.file, (frame) => names.frameOf(frame)),
          job.title,
        ),
      );
  }
}

function reply(): ProfileReply {
  try {
    return { bytes: run(workerData as ProfileJob) };
  } catch (thrown) {
    const { code, message } = AlmanacError.from(thrown);
    return { code, message };
  }
}

parentPort?.postMessage(reply());

/**
 * What some node exporters of a data centre give a Prometheus, as bodies of remote write 1.0: about 950 series of 490
 * names each, most of which hardly change.
 */
import { invariant } from '#shared/errors/invariant';

import { SeededRandom } from '../tsbs/seeded-random.js';
import { labelField, SAMPLE_BYTES_MAX, SERIES_BYTES_MAX, writeSeries } from './wire.js';

export const STEP_SECONDS = 15;
export const START_MS = 1_700_000_000_000;
const CPUS = 16;
const CPU_MODES = ['idle', 'iowait', 'irq', 'nice', 'softirq', 'steal', 'system', 'user'];
const GUEST_MODES = ['nice', 'user'];
const NETWORK_DEVICES = ['bond0', 'docker0', 'eth0', 'eth1', 'lo', 'veth7f3c21a'];
const DISKS = ['dm-0', 'dm-1', 'nvme0n1', 'nvme1n1', 'sda'];
const MOUNTS = ['/', '/boot', '/boot/efi', '/run', '/run/lock', '/var/lib/containers'];
const NETWORK_METRICS = 38;
const DISK_METRICS = 18;
const FILESYSTEM_METRICS = 7;
const SINGLE_METRICS = 422;
const BOUNDS = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1.0', '2.5', '5.0', '10.0', '+Inf'];
const GROUPS = ['memory', 'netstat_Tcp', 'netstat_Ip', 'netstat_Udp', 'sockstat', 'vmstat', 'timex', 'procs', 'nf'];
const WORDS = ['Active', 'Cached', 'InErrs', 'OutSegs', 'Dirty', 'Mapped', 'allocs', 'pgfault', 'entries', 'offset'];

/** How a value changes from scrape to scrape. */
type Course =
  | 'constant'
  /** Grows by whole numbers, at a rate that changes slowly. */
  | 'counter'
  /** Grows by hundredths of a second. */
  | 'seconds'
  /** Pages of memory that come and go. */
  | 'bytes'
  /** A float with two digits. */
  | 'level'
  /** Grows by the same number each time: the higher its bound, the more. */
  | 'bucket';

interface Shape {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly course: Course;
  /** Of a bucket: what it grows by. */
  readonly rate?: number;
}

/** The state of one series of one target. */
interface Series {
  /** Its labels as fields of the message. */
  readonly labels: Buffer;
  readonly course: Course;
  readonly rate: number;
  value: number;
}

export interface Body {
  readonly bytes: Buffer;
  readonly samples: number;
}

/** Exporters that are scraped one after the other. The same seed gives the same bytes. */
export class NodeExporters {
  readonly #random: SeededRandom;
  readonly #targets: readonly Series[][];

  constructor({ targets, seed }: { readonly targets: number; readonly seed: number }) {
    this.#random = new SeededRandom(seed);
    const shapes = shapesOf(this.#random);
    this.#targets = Array.from({ length: targets }, (_, i) => shapes.map((shape) => this.#start(shape, i)));
  }

  get seriesCount(): number {
    return this.#targets.reduce((sum, target) => sum + target.length, 0);
  }

  /** The bodies of `steps` scrapes of all targets; the last one may be shorter. */
  *bodies(steps: number, samplesPerBody: number): Iterable<Body> {
    const bytes = Buffer.alloc(samplesPerBody * SERIES_BYTES_MAX);
    let at = 0;
    let samples = 0;
    for (let step = 0; step < steps; step++) {
      for (const [i, target] of this.#targets.entries()) {
        // Targets are scraped at moments of their own.
        const timeMs = START_MS + step * STEP_SECONDS * 1000 + ((i * 7919) % (STEP_SECONDS * 1000));
        for (const series of target) {
          this.#advance(series);
          at = writeSeries(bytes, at, series, timeMs);
          if (++samples < samplesPerBody) continue;
          yield { bytes: Buffer.from(bytes.subarray(0, at)), samples };
          at = samples = 0;
        }
      }
    }
    if (samples > 0) yield { bytes: Buffer.from(bytes.subarray(0, at)), samples };
  }

  #start({ name, labels, course, rate: fixedRate }: Shape, target: number): Series {
    const random = this.#random;
    const all = {
      __name__: name,
      cluster: 'eu-1',
      ...labels,
      instance: `node-${target}.example.com:9100`,
      job: 'node',
    };
    const sorted = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
    const rate = fixedRate ?? 10 ** (random.fraction() * 4);
    const first = {
      constant: random.below(4),
      counter: random.below(1e8),
      seconds: random.below(1e6),
      bytes: 4096 * random.below(1e6),
      level: 1,
      bucket: 0,
    };
    const encoded = Buffer.concat(sorted.map(([label, value]) => labelField(label, value)));
    invariant(encoded.length + SAMPLE_BYTES_MAX < SERIES_BYTES_MAX, 'labels are too long');
    return { labels: encoded, course, rate, value: first[course] };
  }

  #advance(series: Series): void {
    const random = this.#random;
    switch (series.course) {
      case 'constant':
        break;
      case 'counter':
        series.value += Math.max(0, Math.round(series.rate * STEP_SECONDS * (1 + 0.1 * random.normal())));
        break;
      case 'seconds':
        series.value = Math.round(series.value * 100 + 100 * STEP_SECONDS * random.fraction()) / 100;
        break;
      case 'bytes':
        series.value = Math.max(0, series.value + 4096 * Math.round(series.rate * random.normal()));
        break;
      case 'level':
        series.value = Math.max(0, Math.round(series.value * 100 + 10 * random.normal()) / 100);
        break;
      case 'bucket':
        series.value += series.rate;
        break;
    }
  }
}

/** The series that each target has. */
function shapesOf(random: SeededRandom): Shape[] {
  return [...cpuShapes(), ...deviceShapes(), ...filesystemShapes(), ...histogramShapes(), ...singleShapes(random)];
}

function cpuShapes(): Shape[] {
  return Array.from({ length: CPUS }, (_, i) => String(i)).flatMap((cpu): Shape[] => [
    ...CPU_MODES.map((mode): Shape => ({ name: 'node_cpu_seconds_total', labels: { cpu, mode }, course: 'seconds' })),
    ...GUEST_MODES.map((mode): Shape => {
      return { name: 'node_cpu_guest_seconds_total', labels: { cpu, mode }, course: 'constant' };
    }),
  ]);
}

/** Errors, drops and settings, which hardly change, are most of the metrics of a device. */
function deviceShapes(): Shape[] {
  const courses = (counters: number, seconds: number, all: number): Course[] =>
    Array.from({ length: all }, (_, i) => (i < counters ? 'counter' : i < counters + seconds ? 'seconds' : 'constant'));
  const shapes = (group: string, devices: readonly string[], all: readonly Course[]): Shape[] =>
    all.flatMap((course, i) => {
      const name = `node_${group}_${WORDS[i % WORDS.length].toLowerCase()}_${i}_total`;
      return devices.map((device): Shape => ({ name, labels: { device }, course }));
    });
  return [
    ...shapes('network', NETWORK_DEVICES, courses(10, 0, NETWORK_METRICS)),
    ...shapes('disk', DISKS, courses(8, 4, DISK_METRICS)),
  ];
}

function filesystemShapes(): Shape[] {
  return WORDS.slice(0, FILESYSTEM_METRICS).flatMap((word, i) =>
    MOUNTS.map((mountpoint, k): Shape => {
      const labels = { device: `/dev/mapper/vg-${k}`, fstype: k < 3 ? 'ext4' : 'tmpfs', mountpoint };
      const course = i < 3 && k % 3 === 0 ? 'bytes' : 'constant';
      return { name: `node_filesystem_${word.toLowerCase()}_bytes`, labels, course };
    }),
  );
}

function histogramShapes(): Shape[] {
  const bounds = BOUNDS.map((le, i): Shape => {
    return { name: 'node_scrape_duration_seconds_bucket', labels: { le }, course: 'bucket', rate: (i + 1) ** 2 };
  });
  return [...bounds, { name: 'node_scrape_duration_seconds_sum', labels: {}, course: 'seconds' }];
}

function singleShapes(random: SeededRandom): Shape[] {
  return Array.from({ length: SINGLE_METRICS }, (_, i): Shape => {
    const word = WORDS[Math.floor(i / GROUPS.length) % WORDS.length];
    return {
      name: `node_${GROUPS[i % GROUPS.length]}_${word}_${i}`,
      labels: {},
      course: drawnCourse(random.fraction()),
    };
  });
}

function drawnCourse(draw: number): Course {
  if (draw < 0.55) return 'constant';
  if (draw < 0.8) return 'counter';
  return draw < 0.95 ? 'bytes' : 'level';
}

import { labelField, SERIES_BYTES_MAX, writeSeries } from '#test/bench/remote-write/wire';

/** Series of each pod. */
const POD_SERIES = 100;
const METRICS = 400;
const VERBS = ['get', 'put', 'post', 'delete', 'list'];

/** The name of a metric; there are 400, of which each kind of pod has 100. */
export function metricName(metric: number): string {
  return `app_subsystem${metric % 8}_operation_${metric}_duration_seconds_total`;
}

export function podName(pod: number): string {
  return `service-${pod % 200}-${((pod * 2_654_435_761) % 0xffff_ffff).toString(36)}-${pod}`;
}

/** The labels of series `n`, ascending by name: ten, as pods of a cluster have them. */
function labelsOf(n: number): [string, string][] {
  const pod = Math.floor(n / POD_SERIES);
  const own = n % POD_SERIES;
  const metric = (own + (pod % 4) * POD_SERIES) % METRICS;
  return [
    ['__name__', metricName(metric)],
    ['cluster', 'eu-central-1-production'],
    ['container', `container-${pod % 20}`],
    ['endpoint', 'http-metrics'],
    ['instance', `10.${(pod >> 16) & 0xff}.${(pod >> 8) & 0xff}.${pod & 0xff}:8080`],
    ['job', `kubernetes-pods-${pod % 30}`],
    ['namespace', `team-${pod % 50}`],
    ['node', `ip-10-1-${pod % 1000}.internal`],
    ['pod', podName(pod)],
    ['verb', VERBS[own % VERBS.length]],
  ];
}

/** A body of remote write 1.0, not compressed: one sample of each of the series `[from, to)`. */
export function samplesBody(from: number, to: number, timeMs: number): Buffer {
  const bytes = Buffer.alloc((to - from) * SERIES_BYTES_MAX);
  let at = 0;
  for (let n = from; n < to; n++) {
    const labels = Buffer.concat(labelsOf(n).map(([name, value]) => labelField(name, value)));
    at = writeSeries(bytes, at, { labels, value: n % 1000 }, timeMs);
  }
  return bytes.subarray(0, at);
}

export function deviceName(n: number): string {
  return `device-${((n * 2_654_435_761) % 0xffff_ffff).toString(16)}-${n}`;
}

/** Line protocol: one row of each of the series `[from, to)`, every one of which has a value that no other has. */
export function deviceLines(from: number, to: number, timeMs: number): Buffer {
  const lines: string[] = [];
  for (let n = from; n < to; n++) {
    const tags = `device=${deviceName(n)},firmware=v${n % 12},model=m${n % 40},region=r${n % 9},site=site-${n % 3000}`;
    lines.push(`devices,${tags} level=${n % 100} ${timeMs}`);
  }
  return Buffer.from(lines.join('\n'));
}

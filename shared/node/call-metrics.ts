import type { Metrics } from '#shared/telemetry/metrics';

const BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

/** Counts the calls that a process answers: to be told of each that ended. */
export function callMetrics(metrics: Metrics): (method: string, code: string, seconds: number) => void {
  const labelNames: ('method' | 'code')[] = ['method', 'code'];
  const total = metrics.counter({
    name: 'grpc_server_calls_total',
    help: 'calls of other processes by method, and `ok` or the code of the error',
    labelNames,
  });
  const elapsed = metrics.histogram({
    name: 'grpc_server_call_seconds',
    help: 'seconds that calls of other processes took, streams to their end',
    labelNames,
    buckets: BUCKETS_SECONDS,
  });
  return (method, code, seconds) => {
    total.inc({ method, code });
    elapsed.observe({ method, code }, seconds);
  };
}

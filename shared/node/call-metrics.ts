import type { Metrics } from '#shared/telemetry/metrics';

const BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

/** Counts served calls. @returns a callback for each call that ended. */
export function callMetrics(metrics: Metrics): (method: string, code: string, seconds: number) => void {
  const total = metrics.counter({
    name: 'grpc_server_calls_total',
    help: 'calls from other processes by method and result: `ok` or the error code',
    labelNames: ['method', 'code'],
  });
  const elapsed = metrics.histogram({
    name: 'grpc_server_call_seconds',
    help: 'duration of calls from other processes in seconds, of streams until their end',
    labelNames: ['method', 'code'],
    buckets: BUCKETS_SECONDS,
  });
  return (method, code, seconds) => {
    total.inc({ method, code });
    elapsed.observe({ method, code }, seconds);
  };
}

import type { PromExtras } from '#services/querier/rpc/prom/extras';
import { Labels } from '#services/querier/series/labels';

import { startGatewayRig, type GatewayRig } from './gateway-rig.js';
import { memoryQuerier, MemorySamples } from './memory-samples.js';
import { series } from './promql-source.js';

const COUNT = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const HISTOGRAM = {
  ...{ schema: 0, count: 6, sum: 7.5, zeroThreshold: 0.001, zeroCount: 1, custom: [], hint: 'unknown' as const },
  positive: { indexes: [0, 1], counts: [2, 1] },
  negative: { indexes: [1], counts: [2] },
};
const DATABASES = {
  public: [
    series('up', { job: 'a', instance: '1' }, COUNT),
    series('up', { job: 'a', instance: '2' }, COUNT),
    series('up', { job: 'b', instance: '3' }, COUNT),
    series('big', {}, [1e21, 1e-7, -0, Infinity, -Infinity, NaN, 1.5e-10]),
    series('latency', { job: 'a' }, [HISTOGRAM, HISTOGRAM]),
    series('other_total', { 'a.b': 'c' }, COUNT),
  ],
  elsewhere: [series('far', { place: 'there' }, COUNT)],
};
const EXTRAS: PromExtras = {
  metadata: () =>
    Promise.resolve(
      new Map([
        ['up', [{ type: 'gauge', help: 'is it up', unit: '' }]],
        ['x_total', [1, 2].map((n) => ({ type: 'counter', help: `help ${n}`, unit: '' }))],
      ]),
    ),
  exemplars: ({ matcherSets }) =>
    Promise.resolve([
      {
        series: Labels.of([['__name__', matcherSets[0].at(-1)?.value ?? '']]),
        exemplars: [{ labels: Labels.of([['trace_id', 'x']]), value: 6, timeMs: 1_600_096_945_479 }],
      },
    ]),
};

/** A parsed response. */
export interface PromResponse {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Parameters of a request. */
export type Parameters = Readonly<Record<string, string | readonly string[]>>;

/** A gateway with a querier over series in memory, in the databases `public` and `elsewhere`. */
export class PromRig {
  readonly gateway: GatewayRig;
  readonly samples: MemorySamples;

  private constructor(gateway: GatewayRig, samples: MemorySamples) {
    this.gateway = gateway;
    this.samples = samples;
  }

  /** Starts the rig with a limit of 20,000 samples per query. */
  static async start(): Promise<PromRig> {
    const samples = new MemorySamples(DATABASES);
    const limits = { samplesMax: 20_000 };
    const querier = memoryQuerier(samples, Object.keys(DATABASES), { extras: EXTRAS, limits });
    return new PromRig(await startGatewayRig({}, querier), samples);
  }

  stop(): Promise<void> {
    return this.gateway.gateway.stop();
  }

  /** Requests a path below the root of the API. */
  async get(path: string, parameters: Parameters = {}): Promise<PromResponse> {
    return read(await fetch(`${this.gateway.url}/v1/prometheus/api/v1${path}?${encoded(parameters)}`));
  }

  /** Returns the member `result` of an instant query. */
  async result(query: string, time = '0'): Promise<unknown> {
    const { json } = await this.get('/query', { query, time });
    return (json['data'] as { readonly result: unknown }).result;
  }

  /** Returns status, type and text of an error. */
  async error(path: string, parameters: Parameters = {}): Promise<unknown[]> {
    const { status, json } = await this.get(path, parameters);
    return [status, json['errorType'], json['error']];
  }
}

/** Reads a response. */
export async function read(response: Response): Promise<PromResponse> {
  const text = await response.text();
  return { status: response.status, text, json: JSON.parse(text) as PromResponse['json'] };
}

/** Encodes parameters for a URL. */
export function encoded(parameters: Parameters): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as [string, string]),
  );
  return new URLSearchParams(pairs).toString();
}

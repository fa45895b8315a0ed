import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { Service } from '#shared/lifecycle/service';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

export interface StandaloneOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface RunningStandalone extends Service {
  readonly httpUrl: string;
  readonly publicUrl: string | undefined;
}

export function startStandalone(_options: StandaloneOptions): Promise<RunningStandalone> {
  return Promise.reject(new AlmanacError('unsupported', 'the server is not part of this build'));
}

import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../../request-context.js';
import { STRATEGIES, type TranslationStrategy } from './translation.js';

/** Which attributes become labels, and under which names. */
export interface MetricTranslation {
  readonly strategy: TranslationStrategy;
  readonly isPromoted: (resourceAttribute: string) => boolean;
  readonly promotesScope: boolean;
  /** Differs for options that differ; part of the keys of caches. */
  readonly key: string;
}

/** Resource attributes that become labels in any case. */
const DEFAULT_PROMOTED = [
  'service.instance.id',
  'service.name',
  'service.namespace',
  'service.version',
  'cloud.availability_zone',
  'cloud.region',
  'container.name',
  'deployment.environment',
  'deployment.environment.name',
  ...['cluster', 'container', 'cronjob', 'daemonset', 'deployment', 'job', 'namespace', 'pod', 'replicaset'].map(
    (kind) => `k8s.${kind}.name`,
  ),
  'k8s.statefulset.name',
];
const DEFAULT_STRATEGY = 'UnderscoreEscapingWithSuffixes';
const TRUE = new Set(['true', '1', 'yes', 'on', 't']);
const PREFIX = 'otlp-metric-';

/** Reads the headers of a request. @throws `invalid_arguments` for an unknown translation strategy. */
export function metricTranslation(context: RequestContext): MetricTranslation {
  const header = (name: string): string => context.productHeader(PREFIX + name) ?? '';
  const named = header('translation-strategy');
  const strategy = STRATEGIES.get(named === '' ? DEFAULT_STRATEGY : named);
  if (strategy === undefined) {
    const allowed = [...STRATEGIES.keys()].join(', ');
    throw new AlmanacError('invalid_arguments', `unknown translation strategy "${named}": use one of ${allowed}`);
  }
  const promotesAll = isTrue(header('promote-all-resource-attrs'));
  const promoted = listOf(header('promote-resource-attrs'));
  const ignored = listOf(header('ignore-resource-attrs'));
  const promotesScope = isTrue(header('promote-scope-attrs'));
  const names = new Set(promotesAll ? ignored : [...DEFAULT_PROMOTED, ...promoted]);
  return {
    strategy,
    isPromoted: promotesAll ? (name) => !names.has(name) : (name) => names.has(name),
    promotesScope,
    key: JSON.stringify([named, promotesAll, (promotesAll ? ignored : promoted).toSorted(), promotesScope]),
  };
}

function isTrue(text: string): boolean {
  return TRUE.has(text.trim().toLowerCase());
}

function listOf(text: string): string[] {
  return text
    .split(';')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

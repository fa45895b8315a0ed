import type { Extension } from '@codemirror/state';
import { PromQLExtension } from '@prometheus-io/codemirror-promql';

import { BASE_PATH } from '../../core/origin.js';
import { credentials } from '../../core/session.js';
import { database } from '../../data/sql.js';
import { rangeNow } from '../../time/page-range.js';

const LOOKUP_MS_MAX = 2000;
const VALUES_MAX = 1000;

/** Returns PromQL with completion of metrics, labels and values of the server, and errors while typing. */
export function promqlLanguage(): Extension {
  const extension = new PromQLExtension();
  const { fromMs, toMs } = rangeNow();
  extension.setComplete({
    remote: {
      url: `${location.origin}${BASE_PATH}v1/prometheus`,
      fetchFn: lookUp,
      lookbackInterval: toMs - fromMs,
      httpMethod: 'GET',
    },
    maxMetricsMetadata: 10_000,
  });
  return extension.asExtension();
}

/** Sends a request of the library; one that takes too long ends, and keywords are completed without it. */
function lookUp(input: RequestInfo, init: RequestInit = {}): Promise<Response> {
  const url = new URL(typeof input === 'string' ? input : input.url, location.href);
  url.searchParams.set('db', database());
  url.searchParams.set('limit', String(VALUES_MAX));
  const headers = new Headers(init.headers);
  headers.set('x-requested-with', 'XMLHttpRequest');
  if (credentials.value !== undefined) headers.set('x-almanac-auth', `Basic ${credentials.value}`);
  return fetch(url, { ...init, headers, signal: AbortSignal.timeout(LOOKUP_MS_MAX) });
}

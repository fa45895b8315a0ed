import type { HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import type { GatewayState } from '../protocol.js';

/** Version of InfluxDB that clients see: the last release of 1.x. */
const VERSION = '1.8.10';
/** Headers by which clients recognise InfluxDB. */
export const INFLUX_HEADERS = { 'x-influxdb-version': VERSION, 'x-influxdb-build': 'OSS' } as const;
const JSON_TYPE = { 'content-type': 'application/json' };

/** `GET /ping`: clients read the version from its headers. */
export function ping(context: RequestContext): HttpReply {
  const headers = { ...INFLUX_HEADERS, 'request-id': context.requestId, 'x-request-id': context.requestId };
  const verbose = context.query.get('verbose');
  if (verbose === null || verbose === '' || verbose === '0' || verbose === 'false') return { status: 204, headers };
  return { status: 200, headers: { ...headers, ...JSON_TYPE }, body: `{"version":"${VERSION}"}` };
}

/** `GET /health`, with the members of InfluxDB's reply. */
export function influxHealth(_context: RequestContext, { writeObstacle }: GatewayState): HttpReply {
  const canWrite = writeObstacle === undefined;
  const message = writeObstacle ?? 'ready for queries and writes';
  const status = canWrite ? 'pass' : 'fail';
  const body = { name: 'influxdb', message, status, checks: [], version: VERSION };
  return { status: canWrite ? 200 : 503, headers: JSON_TYPE, body: JSON.stringify(body) };
}

import type { Database } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { lifetimeNs } from '#shared/schema/ttl';

import { repliesV2 } from '../../protocols/lineproto/replies.js';
import type { Handler } from '../../request-context.js';
import { queryRoute } from '../query-route.js';
import { sqlTimeoutMs } from '../sql.js';
import type { InfluxDeps } from './query.js';
import { shardDurationNs } from './retention-policy.js';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
/** Databases belong to no organisation: all buckets have this one. */
const ORGANISATION_ID = idText(1);
const SECOND_NS = 1_000_000_000n;

interface BucketsRequest {
  readonly name: string | undefined;
  readonly id: string | undefined;
  readonly after: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** A database, in the members of InfluxDB 2. */
interface Bucket {
  readonly id: string;
  readonly orgID: string;
  readonly type: string;
  readonly name: string;
  readonly retentionRules: readonly unknown[];
  readonly labels: readonly unknown[];
  readonly links: Readonly<Record<string, string>>;
}

/** `GET /api/v2/buckets` of InfluxDB 2: the databases. */
export function bucketsHandler(deps: InfluxDeps): Handler {
  return queryRoute<BucketsRequest>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => false,
      parameters: ({ query }) => ({
        name: query.get('name') ?? undefined,
        id: query.get('id') ?? undefined,
        after: query.get('after') ?? undefined,
        offset: wholeNumber(query, 'offset', { absent: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
        limit: wholeNumber(query, 'limit', { absent: LIMIT_DEFAULT, min: 1, max: LIMIT_MAX }),
      }),
      async run({ name, id, after, offset, limit }, call) {
        const all = [...(await deps.catalog.databases(call))].sort((a, b) => a.databaseId - b.databaseId);
        const found = all
          .map(bucketOf)
          .filter((bucket) => (name ?? bucket.name) === bucket.name && (id ?? bucket.id) === bucket.id)
          .filter((bucket) => after === undefined || bucket.id > after);
        const links = { self: '/api/v2/buckets' };
        return { json: { links, buckets: found.slice(offset, offset + limit) } };
      },
      isTimed: false,
      failure: (context, error) => repliesV2.failure(error, context),
    },
    deps,
  );
}

function bucketOf({ databaseId, name, options }: Database): Bucket {
  const id = idText(databaseId);
  const durationNs = lifetimeNs({ ttl: options['ttl'] ?? '' });
  const rule = {
    type: 'expire',
    everySeconds: Number(durationNs / SECOND_NS),
    shardGroupDurationSeconds: Number(shardDurationNs(durationNs) / SECOND_NS),
  };
  const links = { self: `/api/v2/buckets/${id}` };
  return { id, orgID: ORGANISATION_ID, type: 'user', name, retentionRules: [rule], labels: [], links };
}

/** Writes an ID as InfluxDB does: 16 hexadecimal digits. */
function idText(id: number): string {
  return id.toString(16).padStart(16, '0');
}

function wholeNumber(
  query: URLSearchParams,
  name: string,
  { absent, min, max }: { readonly absent: number; readonly min: number; readonly max: number },
): number {
  const text = query.get(name);
  if (text === null) return absent;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (value < min || value > max) {
    throw new AlmanacError('invalid_arguments', `${name} must be a whole number from ${min} to ${max}`);
  }
  return value;
}

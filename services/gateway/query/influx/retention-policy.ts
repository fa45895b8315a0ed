import type { Database } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { lifetimeNs } from '#shared/schema/ttl';

import type { InfluxCursor } from './influxql.js';
import { databaseOf, type InfluxSeries, type InfluxSession, type InfluxStatement } from './session.js';

/** Option of a database: the name of its retention policy, for clients of InfluxDB. */
const POLICY_NAME = 'influxdb.retention_policy';
/** Name of the policy that every database of InfluxDB begins with. */
const FIRST_POLICY = 'autogen';

const SECOND_NS = 1_000_000_000n;
const HOUR_NS = 3_600n * SECOND_NS;
const DAY_NS = 24n * HOUR_NS;

/** What a statement says of a retention policy. `REPLICATION` and `SHARD DURATION` have no counterpart. */
export interface PolicyOptions {
  readonly name: string | undefined;
  /** 0 forever. */
  readonly durationNs: bigint | undefined;
  readonly hasReplication: boolean;
  readonly isDefault: boolean;
}

/** Reads the options of a retention policy, in any order. @param mayName whether `NAME n` is one of them. */
export function policyOptions(cursor: InfluxCursor, { mayName }: { readonly mayName: boolean }): PolicyOptions {
  let name: string | undefined;
  let durationNs: bigint | undefined;
  let hasReplication = false;
  let isDefault = false;
  let count = 0;
  for (; !cursor.isAtEnd; count++) {
    if (cursor.accept('DURATION')) durationNs = policyDurationNs(cursor);
    else if (cursor.accept('SHARD', 'DURATION')) cursor.durationNs();
    else if (cursor.accept('REPLICATION')) {
      cursor.number();
      hasReplication = true;
    } else if (mayName && cursor.accept('NAME')) name = cursor.name();
    else if (!mayName && cursor.accept('DEFAULT')) isDefault = true;
    else break;
  }
  if (count === 0) {
    throw cursor.unexpected(`DURATION, REPLICATION, SHARD, ${mayName ? 'NAME' : 'DEFAULT'}`);
  }
  return { name, durationNs, hasReplication, isDefault };
}

/** Whether the database has another retention policy than the options say. */
export function policyConflicts(database: Database, { name, durationNs }: PolicyOptions): boolean {
  const policy = policyOf(database);
  return (name ?? policy.name) !== policy.name || (durationNs ?? policy.durationNs) !== policy.durationNs;
}

/** Returns the options of a database that stand for a retention policy, as the body of `WITH (..)` or `SET`. */
export function policySettings({ name, durationNs }: Pick<PolicyOptions, 'name' | 'durationNs'>): string {
  const settings: string[] = [];
  if (durationNs !== undefined) {
    settings.push(`'ttl' = '${durationNs / SECOND_NS}s ${(durationNs % SECOND_NS) / 1_000_000n}ms'`);
  }
  if (name !== undefined) settings.push(`'${POLICY_NAME}' = ${quoteText(name)}`);
  return settings.join(', ');
}

/** Returns the retention policies of a database, in the columns of InfluxDB. */
export function policySeries(database: Database): InfluxSeries {
  const { name, durationNs } = policyOf(database);
  const row = [name, goDuration(durationNs), goDuration(shardDurationNs(durationNs)), 1, true];
  return { columns: ['name', 'duration', 'shardGroupDuration', 'replicaN', 'default'], values: [row] };
}

/** Length of the shards that InfluxDB would choose, in nanoseconds; 0 as the duration is forever. */
export function shardDurationNs(durationNs: bigint): bigint {
  if (durationNs === 0n || durationNs > 180n * DAY_NS) return 7n * DAY_NS;
  return durationNs < 2n * DAY_NS ? HOUR_NS : DAY_NS;
}

/**
 * `CREATE RETENTION POLICY n ON db DURATION d REPLICATION n [SHARD DURATION d] [DEFAULT]`: a database has one policy, which
 * this replaces.
 *
 * In InfluxDB older points stay in the policy under which they were written: to replace the policy by a shorter one is refused
 * once there are tables, so that no row is lost.
 */
export function createPolicy(cursor: InfluxCursor): InfluxStatement['run'] {
  const { name, database } = policyTarget(cursor);
  const options = policyOptions(cursor, { mayName: false });
  const { durationNs } = options;
  if (durationNs === undefined) throw cursor.unexpected('DURATION');
  if (!options.hasReplication) throw cursor.unexpected('REPLICATION');
  return async (session) => {
    const known = await databaseOf(session, database);
    const policy = policyOf(known);
    if (policy.name === name) {
      if (policy.durationNs !== durationNs) throw refused('retention policy already exists');
      return [];
    }
    if (!options.isDefault) {
      throw refused('a database has one retention policy: add DEFAULT to replace it, or create another database');
    }
    if (isShorter(durationNs, policy.durationNs) && (await hasTables(session, database))) {
      throw refused(
        `stored rows would expire: use ALTER RETENTION POLICY ${quoteName(policy.name)} ON ${quoteName(database)}`,
      );
    }
    await session.execute(`ALTER DATABASE ${quoteName(database)} SET ${policySettings({ name, durationNs })}`);
    return [];
  };
}

/** `ALTER RETENTION POLICY n ON db [DURATION d] [REPLICATION n] [SHARD DURATION d] [DEFAULT]`. */
export function alterPolicy(cursor: InfluxCursor): InfluxStatement['run'] {
  const { name, database } = policyTarget(cursor);
  const { durationNs } = policyOptions(cursor, { mayName: false });
  return async (session) => {
    const policy = policyOf(await databaseOf(session, database));
    if (policy.name !== name) throw refused(`retention policy not found: ${name}`);
    if (durationNs === undefined || durationNs === policy.durationNs) return [];
    await session.execute(`ALTER DATABASE ${quoteName(database)} SET ${policySettings({ name, durationNs })}`);
    return [];
  };
}

/** `DROP RETENTION POLICY n ON db`: does nothing if there is no such policy, as in InfluxDB. */
export function dropPolicy(cursor: InfluxCursor): InfluxStatement['run'] {
  const { name, database } = policyTarget(cursor);
  return async (session) => {
    const policy = policyOf(await databaseOf(session, database));
    if (policy.name === name) throw refused('the only retention policy of a database cannot be dropped');
    return [];
  };
}

function policyTarget(cursor: InfluxCursor): { readonly name: string; readonly database: string } {
  const name = cursor.name();
  cursor.expect('ON');
  return { name, database: cursor.name() };
}

function policyDurationNs(cursor: InfluxCursor): bigint {
  const ns = cursor.durationNs();
  if (ns !== 0n && ns < HOUR_NS) throw refused('retention policy duration must be at least 1h0m0s');
  return ns;
}

function policyOf({ options }: Database): { readonly name: string; readonly durationNs: bigint } {
  return { name: options[POLICY_NAME] ?? FIRST_POLICY, durationNs: lifetimeNs({ ttl: options['ttl'] ?? '' }) };
}

function isShorter(durationNs: bigint, thanNs: bigint): boolean {
  return durationNs !== 0n && (thanNs === 0n || durationNs < thanNs);
}

async function hasTables({ catalog, call }: InfluxSession, database: string): Promise<boolean> {
  return (await catalog.tables(database, call)).length > 0;
}

/** Writes a duration as Go does: `168h0m0s`. */
function goDuration(ns: bigint): string {
  if (ns === 0n) return '0s';
  const seconds = ns / SECOND_NS;
  const fraction = ns % SECOND_NS;
  const decimals = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`;
  return `${seconds / 3_600n}h${(seconds / 60n) % 60n}m${seconds % 60n}${decimals}s`;
}

function refused(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { invariant } from '#shared/errors/invariant';
import type { HttpConnection } from './http-connection.js';
import type { MetricServerKind, TsbsServerKind } from './server.js';
import { checkQuery } from './tsbs/check.js';
import { checkInflux, checkMetrics, toInfluxQl, toMetricsQl } from './tsbs/peer-queries.js';
import { toSql } from './tsbs/queries.js';

/** The repository's root, seen from `dist/test/bench`. */
export const REPOSITORY_ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The program that `bin` names. */
export const ALMANAC_PROGRAM = join(REPOSITORY_ROOT, programOf(join(REPOSITORY_ROOT, 'package.json')));

function programOf(manifestPath: string): string {
  const { bin } = JSON.parse(readFileSync(manifestPath, 'utf8')) as { bin: { almanac: string } };
  return bin.almanac;
}

/** How Almanac flushes and merges a table. */
export function flushTable(table: string): Pick<TsbsServerKind, 'flush' | 'compact'> {
  return {
    flush: (connection) => administer(connection, `ADMIN flush_table('${table}')`),
    compact: (connection) => administer(connection, `ADMIN compact_table('${table}')`),
  };
}

/** Almanac as it ships, in its default (durable) mode. */
export const almanac: TsbsServerKind = {
  name: 'almanac',
  command: (dataFolder, port) => [
    process.execPath,
    ALMANAC_PROGRAM,
    'standalone',
    '--data-dir',
    dataFolder,
    '--http-addr',
    `127.0.0.1:${port}`,
  ],
  readyPath: '/ready',
  writePath: '/v1/lineproto/write?db=public&precision=ns',
  storeFolders: ['store', 'metadata'],
  ...flushTable('cpu'),
  garbage(dataFolder) {
    const catalog = new Database(join(dataFolder, 'metadata/almanac.db'), { readonly: true });
    const rows = catalog.prepare<[], { path: string }>('SELECT path FROM garbage').all();
    catalog.close();
    return rows.map(({ path }) => join(dataFolder, 'store', path));
  },
  settles: false,
  question: (query) => ({ path: '/v1/sql?db=public', form: { sql: toSql(query) } }),
  check: checkQuery,
};

/** The same, loaded by Prometheus remote write. */
export const almanacMetrics: MetricServerKind = {
  ...almanac,
  promPrefix: '/v1/prometheus',
  writePath: '/v1/prometheus/write',
  flush: (connection) => administer(connection, "ADMIN flush_table('almanac_physical_table')"),
  compact: (connection) => administer(connection, "ADMIN compact_table('almanac_physical_table')"),
};

/** Debian's VictoriaMetrics. It does not sync what it acknowledges. */
export const victoriaMetrics: TsbsServerKind = {
  name: 'victoria-metrics',
  command: (dataFolder, port) => [
    'victoria-metrics',
    `-storageDataPath=${join(dataFolder, 'data')}`,
    `-httpListenAddr=127.0.0.1:${port}`,
    // The data is of 2016; the default keeps a month.
    '-retentionPeriod=100y',
    '-loggerLevel=WARN',
  ],
  readyPath: '/health',
  writePath: '/write?db=bench',
  storeFolders: ['data/data', 'data/indexdb'],
  async flush(connection) {
    await expectSuccess(connection, '/internal/force_flush');
    await expectSuccess(connection, '/internal/force_merge');
  },
  settles: true,
  question: toMetricsQl,
  check: checkMetrics,
};

/** The same, loaded by Prometheus remote write. */
export const victoriaMetricsRemoteWrite: MetricServerKind = {
  ...victoriaMetrics,
  writePath: '/api/v1/write',
  promPrefix: '',
};

/** Debian's Prometheus as a receiver of remote write. It does not sync what it acknowledges. */
export const prometheus: MetricServerKind = {
  name: 'prometheus',
  command(dataFolder, port) {
    const file = join(dataFolder, 'prometheus.yml');
    writeFileSync(file, 'global: {}\n');
    return [
      'prometheus',
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(dataFolder, 'data')}`,
      // The data is of 2023; the default keeps two weeks.
      '--storage.tsdb.retention.time=100y',
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-remote-write-receiver',
      '--log.level=warn',
    ];
  },
  readyPath: '/-/ready',
  writePath: '/api/v1/write',
  storeFolders: ['data'],
  settles: false,
  promPrefix: '',
  connectionsMax: 1,
};

/** Debian's InfluxDB 1.x. It syncs its log before it acknowledges, as Almanac does. */
export const influxdb: TsbsServerKind = {
  name: 'influxdb',
  command(dataFolder, port) {
    const folder = (name: string): string => {
      mkdirSync(join(dataFolder, name), { recursive: true });
      return JSON.stringify(join(dataFolder, name));
    };
    const path = join(dataFolder, 'influxdb.conf');
    const lines = [
      'reporting-disabled = true',
      `bind-address = "127.0.0.1:${port + 1}"`,
      '[meta]',
      `dir = ${folder('meta')}`,
      '[data]',
      `dir = ${folder('data')}`,
      `wal-dir = ${folder('wal')}`,
      'max-series-per-database = 0',
      'query-log-enabled = false',
      // There is no command that flushes: a shard at rest is written out and compacted after these.
      'cache-snapshot-write-cold-duration = "3s"',
      'compact-full-write-cold-duration = "3s"',
      '[monitor]',
      'store-enabled = false',
      '[logging]',
      'level = "error"',
      '[http]',
      `bind-address = "127.0.0.1:${port}"`,
      'log-enabled = false',
      'max-body-size = 0',
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    return ['influxd', '-config', path];
  },
  readyPath: '/ping',
  writePath: '/write?db=bench&precision=ns',
  storeFolders: ['data'],
  async prepare(connection) {
    const answer = await connection.postForm('/query', { q: 'CREATE DATABASE bench' });
    invariant(answer.status === 200, `database was not made: ${answer.body.toString()}`);
  },
  settles: true,
  question: toInfluxQl,
  check: checkInflux,
};

async function administer(connection: HttpConnection, sql: string): Promise<void> {
  const answer = await connection.postForm('/v1/sql?db=public', { sql }, ['X-Almanac-Timeout: 10m']);
  invariant(answer.status === 200, `${sql}: ${answer.body.toString()}`);
}

async function expectSuccess(connection: HttpConnection, path: string): Promise<void> {
  const answer = await connection.get(path);
  invariant(answer.status < 300, `${path} was refused: ${answer.body.toString()}`);
}

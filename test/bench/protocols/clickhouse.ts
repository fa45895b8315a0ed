import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { invariant } from '#shared/errors/invariant';

import { requestHead, type HttpConnection } from '../http-connection.js';
import { measureLoad, runProgram, type IngestFigures } from '../ingest.js';
import { RunningServer, type ServerKind } from '../server.js';
import type { ProtocolsPlan } from './measure.js';

/** The members of the lines of `json-lines`, with the types that the identity pipeline gives them. */
const TABLE =
  'CREATE TABLE json_lines (time String, level String, service String, host String, message String, status Int64, ' +
  'bytes Int64, duration Float64, cached UInt8, trace_id String) ENGINE = MergeTree() ORDER BY tuple()';
const LOAD = 'json-lines';

/** Debian's ClickHouse. It does not sync what it acknowledges. */
const clickhouse: ServerKind = {
  name: 'clickhouse',
  command(dataFolder, port) {
    const folder = (name: string): string => {
      const path = join(dataFolder, name);
      mkdirSync(path, { recursive: true });
      return `${path}/`;
    };
    const users = join(dataFolder, 'users.xml');
    writeFileSync(
      users,
      '<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip>' +
        '</networks><profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>',
    );
    const config = join(dataFolder, 'config.xml');
    const settings = {
      http_port: port,
      tcp_port: port + 1,
      listen_host: '127.0.0.1',
      path: folder('data'),
      tmp_path: folder('tmp'),
      users_config: users,
      default_profile: 'default',
      default_database: 'default',
      mark_cache_size: 1_000_000_000,
    };
    const elements = Object.entries(settings).map(([name, value]) => `<${name}>${value}</${name}>`);
    writeFileSync(config, `<yandex><logger><level>error</level></logger>${elements.join('')}</yandex>`);
    return ['clickhouse-server', `--config-file=${config}`];
  },
  readyPath: '/ping',
  writePath: `/?query=${encodeURIComponent('INSERT INTO json_lines FORMAT JSONEachRow')}`,
  storeFolders: ['data/data'],
  prepare: (connection) => createTable(connection),
  settles: true,
};

async function createTable(connection: HttpConnection): Promise<void> {
  const body = Buffer.from(TABLE);
  const address = { host: '127.0.0.1', port: 0 };
  const head = requestHead('POST', '/', address, { contentType: 'text/plain', bytes: body.length });
  const reply = await connection.send(head, body);
  invariant(reply.status === 200, `table was not created: ${reply.body.toString()}`);
}

/** Loads the lines of `json-lines` into ClickHouse. */
export async function measureClickHouse(plan: ProtocolsPlan): Promise<IngestFigures> {
  const { records, connections, port, seed } = plan;
  const server = await RunningServer.start(clickhouse, port);
  try {
    const options = { port, protocol: LOAD, path: clickhouse.writePath, records, connections, seed };
    const load = { batch: plan.loads[LOAD].batch, connections, valuesPerRow: 1 };
    return await measureLoad(server, load, () => runProgram('protocols/loader.js', options));
  } finally {
    await server.stop();
  }
}

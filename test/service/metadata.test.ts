import { readFileSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';
import Database from 'better-sqlite3';

import { systemRandom } from '#shared/clock/random';
import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { Metrics } from '#shared/telemetry/metrics';
import { startMetadata } from '#services/metadata/index';
import { failure } from '../support/failure.js';
import { metadataIn, testFolder } from '../support/metadata.js';
import { NO_FOLDER, TIME } from '../support/metadata-rig.js';
import { overGrpc } from '../support/over-grpc.js';
import { KeptLog } from '../support/quiet-log.js';
import { metadataContract } from './metadata-contract.js';

const call = ownCall('test');
const MIGRATIONS = new URL('../../../services/metadata/store/migrations/', import.meta.url);

metadataContract('by direct call', async (clock) => {
  const folder = testFolder();
  let running = await metadataIn(folder.path, 1, clock);
  return {
    service: running.service,
    async restart() {
      await running.stop();
      running = await metadataIn(folder.path, 1, clock);
      return running.service;
    },
    async stop() {
      await running.stop();
      folder.remove();
    },
  };
});

describe('metadata', () => {
  it('logs which rows may be lost when a node is abandoned', async () => {
    const folder = testFolder();
    const log = new KeptLog();
    const metrics = new Metrics({ unprefixedProcess: false });
    const options = { folder: folder.path, fs: nodeFileSystem, clock: systemClock, random: systemRandom, log, metrics };
    const running = await startMetadata({
      ...options,
      defaults: { regions: 2, tablesMax: 1000, columnsMax: 4096 },
      leaseMs: 5_000,
    });
    const { service } = running;
    const registration = { role: 'ingester', addr: 'host:1', slot: 'a', version: 'test', ...NO_FOLDER };
    const { nodeId, leaseMs } = await service.registerNode(registration, call);
    expect(leaseMs).to.equal(5_000);
    await service.heartbeat({ nodeId, state: 'ready' }, call);
    const tables = [{ name: 'cpu', columns: [TIME], options: {} }];
    const made = await service.ensureTables({ database: 'public', tables, create: true }, call);
    await service.heartbeat({ nodeId, state: 'left' }, call);
    await service.abandonNode({ nodeId }, call);
    const [warning] = log.lines.filter((line) => line.level === 'warn');
    const regionIds = made.tables[0].regions.map((region) => region.regionId);
    expect(warning.message).to.equal('node abandoned: rows that were only in its log are lost');
    expect(warning.fields).to.deep.equal({ abandonedNodeId: nodeId, slot: 'a', addr: 'host:1', regionIds });
    await running.stop();
    folder.remove();
  });
});

metadataContract('over gRPC', async (clock) => {
  const folder = testFolder();
  let running = await metadataIn(folder.path, 1, clock);
  let crossing = await overGrpc('Metadata', running.service);
  const stop = async (): Promise<void> => {
    await running.stop();
    await crossing.stop();
  };
  return {
    service: crossing.service,
    async restart() {
      await stop();
      running = await metadataIn(folder.path, 1, clock);
      crossing = await overGrpc('Metadata', running.service);
      return crossing.service;
    },
    async stop() {
      await stop();
      folder.remove();
    },
  };
});

describe('opening the catalog file', () => {
  it('refuses a file of a newer format', async () => {
    const folder = testFolder();
    await (await metadataIn(folder.path)).stop();
    const file = new Database(`${folder.path}/almanac.db`);
    file.pragma('user_version = 1000');
    file.close();
    const error = await failure(metadataIn(folder.path));
    expect(error.code).to.equal('illegal_state');
    expect(error.message).to.match(
      /^the catalog has format 1000, this release supports up to \d+: use a newer release$/,
    );
    folder.remove();
  });

  it('migrates a file from before data folders, with its nodes', async () => {
    const folder = testFolder();
    const file = new Database(`${folder.path}/almanac.db`);
    for (const name of ['0001-catalog.sql', '0002-nodes-and-grants.sql']) {
      file.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'));
    }
    file.exec(
      `INSERT INTO nodes (role, slot, addr, version, registered_ms) VALUES ('ingester', 'a', 'host:1', 'old', 7)`,
    );
    file.pragma('user_version = 2');
    file.close();
    const running = await metadataIn(folder.path);
    const { service } = running;
    const [node] = (await service.listNodes({}, call)).nodes;
    expect(node).to.include({ role: 'ingester', slot: 'a', version: 'old' });
    const request = { role: 'ingester', addr: 'host:1', slot: 'a', version: 'test', dataFolderId: 'a'.repeat(32) };
    const registered = await service.registerNode({ ...request, clusterId: '' }, call);
    expect(registered).to.include({ nodeId: node.nodeId, dataFolderKnown: true });
    expect(registered.clusterId).to.match(/^[0-9a-f]{32}$/);
    await running.stop();
    folder.remove();
  });

  it('refuses a file that is not a catalog', async () => {
    const folder = testFolder();
    const error = await failure(metadataIn(`${folder.path}/missing`));
    expect(error.code).to.equal('storage_unavailable');
    writeFileSync(`${folder.path}/almanac.db`, 'no database '.repeat(1000));
    const damaged = await failure(metadataIn(folder.path));
    expect(damaged.code).to.equal('storage_unavailable');
    expect(damaged.message).to.include('almanac.db').and.to.include('SQLITE_NOTADB');
    folder.remove();
  });
});

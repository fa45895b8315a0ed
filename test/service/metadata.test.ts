import { writeFileSync } from 'node:fs';

import { expect } from 'chai';
import Database from 'better-sqlite3';

import { failure } from '../support/failure.js';
import { metadataIn, testFolder } from '../support/metadata.js';
import { overGrpc } from '../support/over-grpc.js';
import { metadataContract } from './metadata-contract.js';

metadataContract('by direct call', async () => {
  const folder = testFolder();
  let running = await metadataIn(folder.path);
  return {
    service: running.service,
    async restart() {
      await running.stop();
      running = await metadataIn(folder.path);
      return running.service;
    },
    async stop() {
      await running.stop();
      folder.remove();
    },
  };
});

metadataContract('over gRPC', async () => {
  const folder = testFolder();
  let running = await metadataIn(folder.path);
  let crossing = await overGrpc('Metadata', running.service);
  const stop = async (): Promise<void> => {
    await running.stop();
    await crossing.stop();
  };
  return {
    service: crossing.service,
    async restart() {
      await stop();
      running = await metadataIn(folder.path);
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
    expect(error.message).to.match(/^the catalog has format 1000, this release knows up to \d+: use a newer release$/);
    folder.remove();
  });

  it('refuses a file that is no catalog', async () => {
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

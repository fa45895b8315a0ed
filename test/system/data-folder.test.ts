import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, pollUntil } from '#test/support/almanac';
import { Cluster, Member, type ClusterRole } from '#test/support/cluster';
import { freePort } from '#test/support/free-port';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const WITHIN_MS = 30_000;
const ENVIRONMENT = { ALMANAC_CLUSTER__LEASE: '2s', ALMANAC_MEMORY__LIMIT: '256MiB' };

/** Exits of processes that were refused. */
interface End {
  readonly code: number | null;
  readonly message: string;
  readonly reason: string;
}

describe('the data folder of a cluster', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  const finalCleanUps: (() => void)[] = [];
  /** Of a standalone server that has ended, with a row in a segment. */
  let filled = '';

  before(async () => {
    filled = tempFolder((cleanUp) => finalCleanUps.push(cleanUp));
    const server = await Almanac.start(filled, { environment: ENVIRONMENT });
    try {
      await server.written('m v=1 1');
      await server.flush('m');
    } finally {
      await server.kill();
    }
  });
  after(() => {
    for (const cleanUp of finalCleanUps) cleanUp();
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  const folder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));

  function copyOfFilled(): string {
    const copy = folder();
    cpSync(filled, copy, { recursive: true });
    return copy;
  }

  async function startCluster(data: string): Promise<Cluster> {
    const cluster = await Cluster.start(data, { ingesters: 1, environment: ENVIRONMENT });
    cleanUps.push(() => cluster.killAll());
    return cluster;
  }

  function startMember(role: ClusterRole, data: string, flags: readonly string[]): Member {
    const member = new Member(role, role, ['--data-dir', data, ...flags], ENVIRONMENT);
    cleanUps.push(() => member.kill());
    member.start();
    return member;
  }

  async function runNode(role: 'ingester' | 'querier', data: string, metadataAddr: string): Promise<End> {
    const flags = ['--data-dir', data, '--grpc-addr', '127.0.0.1:0', '--metadata-addr', metadataAddr];
    const { code, stderr } = await runAlmanac([role, ...flags], { environment: ENVIRONMENT });
    return { code, ...lastWords(stderr) };
  }

  function lastWords(stderr: string): { message: string; reason: string } {
    const { msg, reason } = JSON.parse(stderr.trim().split('\n').at(-1)!) as { msg: string; reason: string };
    return { message: msg, reason };
  }

  function idOf(data: string): string {
    const text = readFileSync(join(data, 'identity/folder.json'), 'utf8');
    return (JSON.parse(text) as { folderId: string }).folderId;
  }

  it('must be the same for every ingester and querier; others exit at once', async () => {
    const data = folder();
    const cluster = await startCluster(data);
    expect((await cluster.write('m v=1 1')).status).to.equal(204);
    for (const role of ['ingester', 'querier'] as const) {
      const other = join(folder(), 'not/there');
      const { code, message, reason } = await runNode(role, other, cluster.metadataAddr);
      expect(code, reason).to.equal(1);
      expect(message).to.equal('start failed');
      expect(reason).to.contain(idOf(data)).and.to.contain(idOf(other)).and.to.contain('--data-dir');
    }
    expect((await cluster.sql('SELECT v FROM m')).rows).to.deep.equal([[1]]);
  });

  it('cannot also be that of a standalone server, running or stopped, and vice versa', async () => {
    const [ofServer, ofCluster] = [folder(), folder()];
    const server = await Almanac.start(ofServer, { environment: ENVIRONMENT });
    cleanUps.push(() => server.kill());
    await server.write('m v=1 1');
    const fresh = startMember('metadata', folder(), ['--grpc-addr', `127.0.0.1:${await freePort()}`]);
    const freshAddr = fresh.flag('--grpc-addr');
    const refuses = async (): Promise<void> => {
      const { code, reason } = await runNode('ingester', ofServer, freshAddr);
      expect(code, reason).to.equal(1);
      expect(reason).to.contain(idOf(ofServer)).and.to.contain('belongs to the cluster');
    };
    await refuses();
    expect(await server.stop()).to.equal(0);
    await refuses();

    const cluster = await startCluster(ofCluster);
    expect((await runNode('ingester', ofServer, cluster.metadataAddr)).reason).to.contain('belongs to the cluster');
    await cluster.killAll();
    rmSync(join(ofCluster, 'metadata'), { recursive: true });
    const { code, stderr } = await runAlmanac(['standalone', '--data-dir', ofCluster, '--http-addr', '127.0.0.1:0']);
    expect(code).to.equal(1);
    expect(stderr).to.contain('belongs to the cluster');

    const again = await Almanac.start(ofServer, { environment: ENVIRONMENT });
    cleanUps.push(() => again.kill());
    expect((await again.sql('SELECT v FROM m')).rows).to.deep.equal([[1]]);
    expect(await again.stop()).to.equal(0);
  });

  it('gets no new catalog if its own is lost, neither from a standalone server nor from metadata', async () => {
    const data = copyOfFilled();
    const [metadata, kept] = [join(data, 'metadata'), join(folder(), 'kept')];
    cpSync(metadata, kept, { recursive: true });
    rmSync(metadata, { recursive: true });
    const refuses = async (role: string, reason: string): Promise<void> => {
      const address = role === 'standalone' ? '--http-addr' : '--grpc-addr';
      const { code, stderr } = await runAlmanac([role, '--data-dir', data, address, '127.0.0.1:0']);
      expect(code, stderr).to.equal(1);
      const { reason: told } = lastWords(stderr);
      expect(told)
        .to.contain(reason)
        .and.to.contain('metadata/almanac.db" is missing')
        .and.to.contain('almanac restore');
      expect(existsSync(metadata)).to.equal(false);
    };
    const identity = readFileSync(join(data, 'identity/folder.json'), 'utf8');
    for (const role of ['standalone', 'metadata']) await refuses(role, 'belongs to the cluster');
    rmSync(join(data, 'identity'), { recursive: true });
    for (const role of ['standalone', 'metadata']) await refuses(role, 'has files in its store');

    mkdirSync(join(data, 'identity'));
    writeFileSync(join(data, 'identity/folder.json'), identity);
    cpSync(kept, metadata, { recursive: true });
    const again = await Almanac.start(data, { environment: ENVIRONMENT });
    cleanUps.push(() => again.kill());
    expect((await again.sql('SELECT v FROM m')).rows).to.deep.equal([[1]]);
    expect(await again.stop()).to.equal(0);
  });

  it('can be repaired as the error message says if its identity is lost or damaged', async () => {
    const data = copyOfFilled();
    const file = join(data, 'identity/folder.json');
    const start = async (): Promise<Almanac> => {
      const server = await Almanac.start(data, { environment: ENVIRONMENT });
      cleanUps.push(() => server.kill());
      return server;
    };
    const identity = readFileSync(file, 'utf8').trim();
    const refusal = async (): Promise<string> => {
      const { code, stderr } = await runAlmanac(['standalone', '--data-dir', data, '--http-addr', '127.0.0.1:0']);
      expect(code, stderr).to.equal(1);
      return lastWords(stderr).reason;
    };
    for (const damage of [() => writeFileSync(file, '{"folder'), () => rmSync(file)]) {
      damage();
      // Also after the refused start has given the folder a new identity.
      const told = [await refusal(), await refusal()];
      for (const reason of told) expect(reason).to.contain(`write ${identity} into`);
      const checked = await runAlmanac(['check', data]);
      expect(checked.code).to.equal(1);
      expect(checked.stdout).to.contain(`write ${identity} into`);
      writeFileSync(file, identity);
      const again = await start();
      expect((await again.sql('SELECT v FROM m')).rows).to.deep.equal([[1]]);
      expect(await again.stop()).to.equal(0);
    }
  });

  it('is compared again for a querier that registered before all ingesters', async () => {
    const [data, other] = [folder(), folder()];
    const grpcFlags = async (): Promise<string[]> => ['--grpc-addr', `127.0.0.1:${await freePort()}`];
    const metadata = startMember('metadata', data, await grpcFlags());
    const flags = ['--metadata-addr', metadata.flag('--grpc-addr')];
    const querier = startMember('querier', other, [...(await grpcFlags()), ...flags]);
    const isReady = (member: Member): Promise<boolean> =>
      pollUntil(performance.now() + WITHIN_MS, () => Promise.resolve(member.stderr.includes('"ready"')));
    expect(await isReady(querier), querier.stderr).to.equal(true);
    const ingester = startMember('ingester', data, [...(await grpcFlags()), ...flags]);
    expect(await isReady(ingester), ingester.stderr).to.equal(true);
    expect(await querier.ended()).to.equal(1);
    const { message, reason } = lastWords(querier.stderr);
    expect(message).to.equal('registration refused by metadata; exiting');
    expect(reason).to.contain(idOf(data)).and.to.contain(idOf(other));
    expect(ingester.runs).to.equal(true);
  });

  it('of an earlier release gets an identity; ingesters that start at the same time agree on it', async () => {
    const data = folder();
    const server = await Almanac.start(data, { environment: ENVIRONMENT });
    cleanUps.push(() => server.kill());
    await server.write('m v=1 1');
    expect(await server.stop()).to.equal(0);
    // As if its metadata did not know folders yet.
    const older = folder();
    cpSync(join(data, 'slots'), join(older, 'slots'), { recursive: true });
    const cluster = await Cluster.start(older, { ingesters: 3, environment: ENVIRONMENT });
    cleanUps.push(() => cluster.killAll());
    expect(idOf(older))
      .to.match(/^[0-9a-f]{32}$/)
      .and.not.to.equal(idOf(data));
    expect(cluster.of('ingester').every((member) => member.runs)).to.equal(true);
  });

  it('reports an invalid identity, or one that cannot be written', async () => {
    const metadataAddr = `127.0.0.1:${await freePort()}`;
    for (const role of ['ingester', 'querier'] as const) {
      const torn = folder();
      mkdirSync(join(torn, 'identity'));
      writeFileSync(join(torn, 'identity/folder.json'), '{"folder');
      const ends = [await runNode(role, torn, metadataAddr), await runNode(role, '/sys', metadataAddr)];
      expect(ends.map(({ code }) => code)).to.deep.equal([1, 1]);
      expect(ends[0].reason).to.contain('identity/folder.json" is damaged');
      expect(ends[1].reason).to.contain('data folder "/sys" cannot be written');
      expect((await runNode(role, '/sys/none', metadataAddr)).reason).to.contain(
        'data folder "/sys/none" cannot be made',
      );
    }
  });
});

import { readFileSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { connect } from '#shared/grpc/connect';
import type { PeerTls } from '#shared/grpc/options';
import {
  peerTls,
  peerTlsEnvironment,
  replaceByCopy,
  replacePair,
  TestCa,
  type PeerFiles,
} from '#test/support/certificates';
import { Cluster, Member } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { freePort } from '#test/support/free-port';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

describe('a cluster with mutual TLS', function () {
  this.timeout(180_000);
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let ca: TestCa;
  let files: PeerFiles;
  let cluster: Cluster;
  const strangers: Member[] = [];

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    ca = new TestCa(folder);
    files = { pair: ca.issue('node', { names: 'IP:127.0.0.1' }), caCert: `${folder}/trusted.crt` };
    writeFileSync(files.caCert, readFileSync(ca.cert));
    cluster = await Cluster.start(`${folder}/data`, { environment: peerTlsEnvironment(files), tls: peerTls(files) });
  });

  after(async () => {
    await Promise.all(strangers.map((stranger) => stranger.kill()));
    await cluster.killAll();
    cleanUp();
  });

  /** The error of a call to metadata with these options. */
  async function refusal(addr: string, tls: PeerTls | undefined): Promise<AlmanacError | undefined> {
    const connection = connect(addr, { clock: systemClock, name: 'metadata', tls });
    const call = connection.client('Admin').config({ sources: false }, ownCall('test'));
    const error = await call.then(
      () => undefined,
      (thrown: unknown) => AlmanacError.from(thrown),
    );
    connection.close();
    return error;
  }

  it('writes and queries', async () => {
    await cluster.written('cpu,host=a usage=1 1');
    expect(await cluster.rows('SELECT count(*) FROM cpu')).to.deep.equal([[1]]);
    const { text } = await cluster.get('/status');
    expect(text).to.contain('"reachable":true').and.to.not.contain('"reachable":false');
    expect(cluster.of('metadata')[0].stderr).to.contain(`"url":"grpcs://${cluster.metadataAddr}"`);
  });

  it('refuses callers without a certificate of its CA', async () => {
    const other = new TestCa(folder, 'other');
    const strange = { pair: other.issue('strange'), caCert: ca.cert };
    for (const addr of cluster.members.map((member) => member.flag('--grpc-addr'))) {
      expect(await refusal(addr, peerTls(files)), addr).to.equal(undefined);
      expect(await refusal(addr, undefined), addr).to.have.property('code', 'external');
      expect(await refusal(addr, peerTls(strange)), addr).to.have.property('code', 'external');
    }
  });

  it('does not call servers without a certificate of its CA, or with one that names another address', async () => {
    const unrelated = { pair: files.pair, caCert: new TestCa(folder, 'unrelated').cert };
    const untrusted = await refusal(cluster.metadataAddr, peerTls(unrelated));
    expect(untrusted?.message).to.match(/^metadata at \S+ cannot be reached over TLS: .*certificate/);

    const otherAddr = cluster.metadataAddr.replace('127.0.0.1', 'localhost');
    const otherName = await refusal(otherAddr, peerTls(files, true));
    expect(otherName?.message).to.contain('cannot be reached over TLS').and.contain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await refusal(otherAddr, peerTls(files, false))).to.equal(undefined);
  });

  it('lets no process join without a certificate of its CA, whose log says why', async () => {
    const args = ['--data-dir', `${folder}/data`, '--metadata-addr', cluster.metadataAddr];
    const foreign = peerTlsEnvironment({ pair: new TestCa(folder, 'foreign').issue('foreign-node'), caCert: ca.cert });
    const cases: readonly [string, Readonly<Record<string, string>>, string][] = [
      ['plain', {}, 'that grpc.tls is on in both processes or in none'],
      ['foreign', foreign, 'as if it did not accept the certificate of this process'],
    ];
    for (const [name, environment, reason] of cases) {
      const flags = [...args, '--grpc-addr', `127.0.0.1:${await freePort()}`];
      const member = new Member('querier', name, flags, environment);
      strangers.push(member);
      member.start();
      const lines = (): string[] => member.stderr.split('\n').filter((line) => line.includes('waiting for metadata'));
      await eventually(() => lines().some((line) => line.includes(reason)), 30_000);
    }
    const { nodes } = await cluster.metadata.listNodes({}, ownCall('test'));
    expect(nodes).to.have.length(cluster.members.length - 1);
  });

  it('is healthy for probes, which use the certificate of the configuration', async () => {
    for (const role of ['metadata', 'querier'] as const) {
      const [member] = cluster.of(role);
      const args = ['health', role, '--grpc-addr', member.flag('--grpc-addr')];
      expect((await runAlmanac(args, { environment: peerTlsEnvironment(files) })).code, role).to.equal(0);
      const plain = await runAlmanac(args);
      expect(plain, role).to.include({ code: 3 });
      expect(plain.stderr, role).to.contain('if the process uses grpc.tls');
      const foreign = peerTlsEnvironment({
        pair: new TestCa(folder, 'prober').issue(`prober-${role}`),
        caCert: ca.cert,
      });
      const refused = await runAlmanac(args, { environment: foreign });
      expect(refused, role).to.include({ code: 3 });
      expect(refused.stderr, role).to.contain('as if it did not accept the certificate');
    }
  });

  it('changes its CA and all certificates while it runs, and processes that start with the new ones join', async () => {
    const loadedBy = (text: string): boolean => cluster.members.every(({ stderr }) => stderr.includes(text));
    const next = new TestCa(folder, 'next');
    writeFileSync(`${folder}/both.crt`, readFileSync(ca.cert, 'utf8') + readFileSync(next.cert, 'utf8'));
    replaceByCopy(files.caCert, `${folder}/both.crt`);
    await eventually(() => loadedBy('TLS certificate loaded'));
    replacePair(files.pair, next.issue('next-node'));
    await eventually(() => loadedBy('"subject":"CN=next-node"'));
    await cluster.written('cpu,host=a usage=2 2');

    replaceByCopy(files.caCert, next.cert);
    for (const role of ['querier', 'ingester'] as const) {
      const [member] = cluster.of(role);
      expect(await member.stop()).to.equal(0);
      member.start();
    }
    await eventually(() => refusal(cluster.metadataAddr, peerTls(files)).then((error) => error === undefined));
    await cluster.ready();
    await cluster.written('cpu,host=a usage=3 3');
    expect(await cluster.rows('SELECT count(*) FROM cpu')).to.deep.equal([[3]]);
    const former = { pair: ca.issue('former'), caCert: `${folder}/both.crt` };
    const [metadata] = cluster.of('metadata');
    await eventually(() => refusal(metadata.flag('--grpc-addr'), peerTls(former)).then((error) => error !== undefined));
  });
});

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { connect } from '#shared/grpc/connect';
import { Cluster, Member } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { freePort } from '#test/support/free-port';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const SECRET = 'a-secret-of-the-cluster';

describe('a cluster with a secret', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    cluster = await Cluster.start(folder, { environment: { ALMANAC_GRPC__SECRET: SECRET }, secret: SECRET });
  });

  after(async () => {
    await cluster.killAll();
    cleanUp();
  });

  it('writes and queries', async () => {
    expect((await cluster.write('cpu,host=a usage=1 1')).status).to.equal(204);
    expect((await cluster.sql('SELECT count(*) FROM cpu')).rows).to.deep.equal([[1]]);
  });

  it('refuses callers without it or with another one, but for health', async () => {
    for (const secret of [undefined, '', 'other', `${SECRET} `]) {
      for (const { flagAddr } of cluster.members.map((member) => ({ flagAddr: member.flag('--grpc-addr') }))) {
        const connection = connect(flagAddr, { clock: systemClock, secret });
        const refused = await connection
          .client('Admin')
          .config({ sources: false }, ownCall('test'))
          .catch((error: unknown) => AlmanacError.from(error));
        expect(refused, `${flagAddr} ${secret}`).to.have.property('code', 'peer_not_trusted');
        connection.close();
      }
    }
    const { text } = await cluster.get('/status');
    expect(text).to.contain('"reachable":true').and.to.not.contain('"reachable":false');
  });

  it('is named in the log of a process that does not have it, which does not start', async () => {
    const args = ['querier', '--data-dir', cluster.folder, '--grpc-addr', '127.0.0.1:0'];
    const end = await runAlmanac([...args, '--metadata-addr', cluster.metadataAddr]);
    expect(end.code).to.equal(1);
    expect(end.stderr).to.contain(
      `metadata at ${cluster.metadataAddr} refused the calling process: it has no grpc.secret; set the same grpc.secret`,
    );
  });

  it('is recommended by processes without it that other machines can call', async () => {
    const warned = async (environment: Readonly<Record<string, string>>): Promise<boolean> => {
      const args = ['--data-dir', `${cluster.folder}/other`, '--grpc-addr', `0.0.0.0:${await freePort()}`];
      const member = new Member('metadata', 'metadata', args, environment);
      member.start();
      await eventually(() => member.stderr.includes('gRPC listener is open'), 30_000);
      await member.kill();
      return member.stderr.includes('every host that reaches the gRPC listener may do everything');
    };
    expect(await warned({})).to.equal(true);
    expect(await warned({ ALMANAC_GRPC__SECRET: SECRET })).to.equal(false);
  });

  it('shows it nowhere', async () => {
    expect((await cluster.get('/config')).text).to.contain('secret = "***"');
    for (const member of cluster.members) expect(member.stderr).to.not.contain(SECRET);
    expect(cluster.members.map(({ stderr }) => stderr).join('')).to.contain(
      'call refused: the caller has no grpc.secret or another one',
    );
  });
});

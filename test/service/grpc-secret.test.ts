import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { serve } from '#shared/grpc/serve';
import { failure } from '#test/support/failure';
import { callFor, FLUSH, GrpcRig } from '#test/support/grpc-rig';
import { partialIngester } from '#test/support/partial-ingester';
import { KeptLog } from '#test/support/quiet-log';

const SECRET = 'a secret of the cluster';

describe('the secret between processes', () => {
  const rig = new GrpcRig();
  let port = 0;
  let calls = 0;
  const log = new KeptLog();

  before(async () => {
    const flush = () => Promise.reject(new Error(`reached ${++calls}`));
    const place = { host: '127.0.0.1', port: 0, clock: systemClock, log, secret: SECRET };
    const server = await serve({ ...place, services: { Ingester: partialIngester({ flushTable: flush }) } });
    rig.onClose(() => server.stop(0));
    ({ port } = server);
  });

  after(() => rig.close());

  for (const secret of [undefined, '', 'another secret of a cluster', `${SECRET} `, SECRET.slice(0, -1)]) {
    it(`refuses a call with ${secret === undefined ? 'no secret' : `the secret "${secret}"`}`, async () => {
      const reached = calls;
      const client = rig.connectTo(port, { secret, name: 'node 3 (ingester)' }).client('Ingester');
      const error = await failure(client.flushTable(FLUSH, callFor(5_000)));
      const isMissing = secret === undefined || secret === '';
      expect(error).to.include({
        code: 'peer_not_trusted',
        message:
          `node 3 (ingester) at 127.0.0.1:${port} refused the calling process: ` +
          `${isMissing ? 'it has no grpc.secret' : 'its grpc.secret is another one'}; ` +
          'set the same grpc.secret in all processes of the cluster',
      });
      expect(calls).to.equal(reached);
    });
  }

  it('logs refusals at a limited rate', () => {
    const refusals = log.messages('warn').filter((message) => message.startsWith('call refused'));
    expect(refusals).to.have.length(1);
    expect(JSON.stringify(log.lines)).to.not.contain(SECRET);
  });

  it('names the process that refused, not those that pass the error on', async () => {
    const client = rig.connectTo(port, { name: 'node 3 (ingester)' }).client('Ingester');
    const relay = await rig.start({ flushTable: (request, call) => client.flushTable(request, call) });
    const error = await failure(relay.service.flushTable(FLUSH, callFor(5_000)));
    expect(error.message).to.match(/^node 3 \(ingester\) at 127.0.0.1:\d+ refused the calling process: it has no/);
  });

  it('accepts a call with the secret', async () => {
    const reached = calls;
    await failure(rig.connectTo(port, { secret: SECRET }).client('Ingester').flushTable(FLUSH, callFor(5_000)));
    expect(calls).to.equal(reached + 1);
  });
});

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

  before(async () => {
    const flush = () => Promise.reject(new Error(`reached ${++calls}`));
    const place = { host: '127.0.0.1', port: 0, clock: systemClock, log: new KeptLog(), secret: SECRET };
    const server = await serve({ ...place, services: { Ingester: partialIngester({ flushTable: flush }) } });
    rig.onClose(() => server.stop(0));
    ({ port } = server);
  });

  after(() => rig.close());

  for (const secret of [undefined, '', 'another secret of a cluster', `${SECRET} `, SECRET.slice(0, -1)]) {
    it(`refuses a call with ${secret === undefined ? 'no secret' : `the secret "${secret}"`}`, async () => {
      const reached = calls;
      const client = rig.connectTo(port, { secret }).client('Ingester');
      const error = await failure(client.flushTable(FLUSH, callFor(5_000)));
      expect(error.message).to.contain('does not have the grpc.secret').and.not.contain(SECRET);
      expect(calls).to.equal(reached);
    });
  }

  it('accepts a call with the secret', async () => {
    const reached = calls;
    await failure(rig.connectTo(port, { secret: SECRET }).client('Ingester').flushTable(FLUSH, callFor(5_000)));
    expect(calls).to.equal(reached + 1);
  });
});

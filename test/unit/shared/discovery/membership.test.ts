import { expect } from 'chai';

import { systemRandom } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService, RegisterNodeRequest } from '#shared/contracts/gen/metadata';
import { Membership } from '#shared/discovery/membership';
import { AlmanacError } from '#shared/errors/almanac-error';
import { failure, failureCode } from '#test/support/failure';
import { Gate } from '#test/support/gate';
import { ManualClock } from '#test/support/manual-clock';
import { metadataIn, testFolder, type TestFolder } from '#test/support/metadata';
import { KeptLog } from '#test/support/quiet-log';

type Running = Awaited<ReturnType<typeof metadataIn>>;

const [FOLDER, OTHER] = ['a'.repeat(32), 'b'.repeat(32)];

describe('membership', () => {
  let clock: ManualClock;
  let folder: TestFolder;
  let running: Running;
  /** While it is set, metadata does not answer. */
  let isAway = false;
  /** Where heartbeats come by while it is away, and answers to registrations while it is set. */
  let silence: Gate | undefined;
  let registering: Gate | undefined;
  let beats = 0;
  let refusals: AlmanacError[] = [];

  beforeEach(async () => {
    clock = new ManualClock();
    folder = testFolder();
    running = await metadataIn(folder.path, 1, clock);
    isAway = false;
    silence = undefined;
    registering = undefined;
    beats = 0;
    refusals = [];
  });

  afterEach(async () => {
    await running.stop();
    folder.remove();
  });

  function metadata(): MetadataService {
    const { service } = running;
    return {
      ...service,
      async registerNode(request, call) {
        const answer = await service.registerNode(request, call);
        await registering?.pass();
        return answer;
      },
      async heartbeat(request, call) {
        beats++;
        if (isAway) await silence?.pass();
        if (isAway) throw new AlmanacError('external', 'metadata cannot be reached');
        return service.heartbeat(request, call);
      },
    };
  }

  function join(role: string, dataFolderId: string, slot = ''): Promise<Membership> {
    const request: RegisterNodeRequest = { role, addr: 'a:1', slot, version: 'test', dataFolderId, clusterId: '' };
    const options = {
      metadata: metadata(),
      registration: () => Promise.resolve(request),
      onRefused: (refusal: AlmanacError) => void refusals.push(refusal),
      clock,
      random: systemRandom,
      log: new KeptLog(),
    };
    return Membership.join(options, new AbortController().signal);
  }

  it("needs no check if the process has the cluster's data folder", async () => {
    await join('ingester', FOLDER, 'a');
    const querier = await join('querier', FOLDER);
    await querier.confirmDataFolder();
    expect(beats).to.equal(0);
  });

  it('checks before each file access until the data folder is known, once for all waiting callers', async () => {
    const querier = await join('querier', FOLDER);
    await Promise.all([querier.confirmDataFolder(), querier.confirmDataFolder()]);
    expect(beats).to.equal(1);
    await join('ingester', FOLDER, 'a');
    await querier.confirmDataFolder();
    await querier.confirmDataFolder();
    expect(beats).to.equal(2);
  });

  it('refuses access to files of another folder, and reports that the process must stop', async () => {
    const querier = await join('querier', OTHER);
    await querier.confirmDataFolder();
    await join('ingester', FOLDER, 'a');
    const refused = await failure(querier.confirmDataFolder());
    expect(refused.code).to.equal('illegal_state');
    expect(refused.message).to.contain(FOLDER).and.to.contain(OTHER);
    expect(refusals).to.deep.equal([refused]);
  });

  it('refuses access to files while the folder cannot be verified', async () => {
    const querier = await join('querier', FOLDER);
    isAway = true;
    const unknown = await failure(querier.confirmDataFolder());
    expect(unknown.code).to.equal('external');
    expect(unknown.message).to.contain('metadata');
    expect(refusals).to.deep.equal([]);
    isAway = false;
    await querier.confirmDataFolder();
  });

  it('allows access to files once the process is registered again after metadata lost it', async () => {
    const querier = await join('querier', FOLDER);
    await running.service.heartbeat({ nodeId: querier.nodeId, state: 'left' }, ownCall('test'));
    await querier.confirmDataFolder();
    expect(await running.service.listNodes({}, ownCall('test')))
      .to.have.property('nodes')
      .with.length(1);
  });

  it('refuses access to files after the reply to an earlier request', async () => {
    const querier = await join('querier', OTHER);
    await running.service.heartbeat({ nodeId: querier.nodeId, state: 'left' }, ownCall('test'));
    const early = (registering = new Gate());
    const before = querier.reportState('ready');
    await early.reached;
    registering = undefined;
    await join('ingester', FOLDER, 'a');
    isAway = true;
    const away = (silence = new Gate());
    const confirming = failureCode(querier.confirmDataFolder());
    await away.reached;
    early.open();
    await before;
    away.open();
    expect(await confirming).to.equal('external');
  });

  it('refuses a process with another data folder at once', async () => {
    await join('ingester', FOLDER, 'a');
    expect((await failure(join('querier', OTHER))).code).to.equal('illegal_state');
  });

  it('registers again when metadata learns late of an earlier process of its slot', async () => {
    const { service } = running;
    const addrOf = async (nodeId: number): Promise<string | undefined> => {
      const { nodes } = await service.listNodes({}, ownCall('test'));
      return nodes.find((node) => node.nodeId === nodeId)?.addr;
    };
    const ingester = await join('ingester', FOLDER, 'a');
    const late = { role: 'ingester', addr: 'old:1', slot: 'a', version: 'test', dataFolderId: FOLDER, clusterId: '' };
    await service.registerNode(late, ownCall('test'));
    expect(await addrOf(ingester.nodeId)).to.equal('old:1');
    await ingester.reportState('ready');
    expect(await addrOf(ingester.nodeId)).to.equal('a:1');
    const heartbeat = service.heartbeat({ nodeId: ingester.nodeId, state: 'left', addr: 'old:1' }, ownCall('test'));
    expect(await failureCode(heartbeat)).to.equal('illegal_state');
  });
});

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService, StoredUser } from '#shared/contracts/gen/metadata';
import { failure } from '#test/support/failure';
import { known, watch, type MetadataUnderTest, type StartMetadata } from '#test/support/metadata-rig';

const call = ownCall('test');
const VERIFIER = 'scrypt:15:00:11';
const HASH = 'ab'.repeat(32);

/** Tests of users: their storage, their limits and their watch. */
export function usersContract(name: string, start: StartMetadata): void {
  describe(`users of metadata, ${name}`, () => {
    let metadata: MetadataUnderTest;
    let service: MetadataService;

    beforeEach(async () => {
      metadata = await start(systemClock);
      ({ service } = metadata);
    });

    afterEach(() => metadata.stop());

    const create = (user: string): Promise<unknown> =>
      service.createUser({ name: user, verifier: VERIFIER, ifNotExists: false }, call);
    const grant = (user: string, database: string, mode: string): Promise<unknown> =>
      service.grantMode({ user, database, mode }, call);
    const token = (user: string, tokenName: string, hash = HASH): Promise<unknown> =>
      service.createToken({ user, name: tokenName, hash }, call);

    /** The user as the state of a new watcher has it. */
    async function watched(user: string): Promise<StoredUser | undefined> {
      const watching = watch(service, 0n);
      let found: StoredUser | undefined;
      for (let event = await watching.next(); event.kind !== 'state_end'; event = await watching.next()) {
        if (event.user?.name === user) found = event.user;
      }
      await watching.end();
      return found;
    }

    it('sends a user to watchers with everything, and its end', async () => {
      const { catalogVersion } = await service.listDatabases({}, call);
      const watching = watch(service, catalogVersion);
      await create('ann');
      expect(known((await watching.next()).user)).to.deep.equal({
        name: 'ann',
        verifier: VERIFIER,
        grants: [],
        tokens: [],
      });
      await grant('ann', 'metrics', 'read');
      await watching.next();
      await token('ann', 'agent');
      const { grants, tokens } = known((await watching.next()).user);
      expect(grants).to.deep.equal([{ database: 'metrics', mode: 'read' }]);
      expect(tokens).to.have.length(1);
      expect(tokens[0]).to.include({ name: 'agent', hash: HASH });
      await service.dropUser({ name: 'ann', ifExists: false }, call);
      expect(await watching.next()).to.include({ kind: 'user_dropped', droppedUser: 'ann' });
      await watching.end();
    });

    it('keeps users over a restart, and drops all of one together', async () => {
      await create('ann');
      await grant('ann', '', 'admin');
      await token('ann', 'agent');
      const before = await watched('ann');
      service = await metadata.restart();
      expect(await watched('ann')).to.deep.equal(before);
      expect(known(before).grants).to.deep.equal([{ database: '', mode: 'admin' }]);
      await service.dropUser({ name: 'ann', ifExists: false }, call);
      await create('ann');
      expect(await watched('ann')).to.deep.equal({ name: 'ann', verifier: VERIFIER, grants: [], tokens: [] });
    });

    it('lists users without what checks their passwords and tokens', async () => {
      await create('ann');
      await token('ann', 'agent');
      const { users } = await service.listUsers({}, call);
      expect(users).to.have.length(1);
      expect(users[0].verifier).to.equal('');
      expect(users[0].tokens[0]).to.include({ name: 'agent', hash: '' });
    });

    it('combines modes of a database, and removes parts of them', async () => {
      await create('ann');
      const modes: [granted: string | undefined, revoked: string | undefined, left: string | undefined][] = [
        ['read', undefined, 'read'],
        ['write', undefined, 'read_write'],
        [undefined, 'write', 'read'],
        ['admin', undefined, 'admin'],
        ['read', undefined, 'admin'],
        [undefined, 'read', 'write'],
        ['read_write', undefined, 'read_write'],
        [undefined, 'read_write', undefined],
        ['admin', undefined, 'admin'],
        [undefined, 'admin', undefined],
      ];
      for (const [granted, revoked, left] of modes) {
        if (granted !== undefined) await grant('ann', 'm', granted);
        if (revoked !== undefined) await service.revokeMode({ user: 'ann', database: 'm', mode: revoked }, call);
        expect((await watched('ann'))?.grants.at(0)?.mode, `${granted} ${revoked}`).to.equal(left);
      }
    });

    it('refuses what is malformed, and changes nothing', async () => {
      await create('ann');
      await token('ann', 'agent');
      const before = await service.listDatabases({}, call);
      const refused: [() => Promise<unknown>, RegExp][] = [
        [() => create('ann'), /User ann already exists/],
        [() => create(''), /Invalid user name/],
        [() => create('a:b'), /Invalid user name/],
        [() => create('a '), /Invalid user name/],
        [() => create('a\u0000b'), /Invalid user name/],
        [() => create('x'.repeat(129)), /Invalid user name/],
        [() => service.createUser({ name: 'b', verifier: '', ifNotExists: false }, call), /1 to 4096 bytes/],
        [() => service.alterUser({ name: 'ann', verifier: 'x'.repeat(4097) }, call), /1 to 4096 bytes/],
        [() => service.alterUser({ name: 'b', verifier: VERIFIER }, call), /User not found: b/],
        [() => service.dropUser({ name: 'b', ifExists: false }, call), /User not found: b/],
        [() => grant('b', 'm', 'read'), /User not found: b/],
        [() => grant('ann', 'm', 'all'), /unknown mode "all"/],
        [() => grant('ann', 'm', 'constructor'), /unknown mode/],
        [() => grant('ann', 'a b', 'read'), /Invalid database name/],
        [() => service.revokeMode({ user: 'ann', database: 'm', mode: 'read' }, call), /no such right on m\.\*/],
        [() => token('ann', 'agent', 'cd'.repeat(32)), /Token agent of user ann already exists/],
        [() => token('ann', 'other', 'short'), /64 hexadecimal digits/],
        [() => token('ann', ''), /Invalid token name/],
        [() => service.dropToken({ user: 'ann', name: 'other' }, call), /Token not found: other/],
      ];
      for (const [attempt, error] of refused) expect((await failure(attempt())).message).to.match(error);
      // A hash that exists twice would make a token the one of two users.
      expect((await failure(token('ann', 'twice'))).code).to.equal('invalid_arguments');
      expect(await service.listDatabases({}, call)).to.deep.equal(before);
    });
  });
}

import { expect } from 'chai';

import { hashPassword, isPassword, newSalt } from '#shared/auth/password';
import { StoredUsers } from '#shared/auth/stored-users';

const PLAIN = { name: 'ann', verifier: 'secret', grants: [], tokens: [] } as const;

describe('StoredUsers', () => {
  it('never takes a text that is not a hash as the password itself', async () => {
    const users = new StoredUsers();
    for (const verifier of ['secret', 'plain:secret', 'argon2:1:secret', 'scrypt:broken', '']) {
      users.put({ ...PLAIN, verifier });
      const found = users.find('ann');
      expect(found).to.include({ name: 'ann', isStored: true });
      for (const password of [verifier, 'secret']) {
        expect(await isPassword(found!.verifier, password), verifier).to.equal(false);
      }
    }
    users.put({
      ...PLAIN,
      verifier: await hashPassword('secret', { format: 'scrypt', iterations: 1, salt: newSalt(16) }),
    });
    expect(await isPassword(users.find('ann')!.verifier, 'secret')).to.equal(true);
  });

  it('grants nothing for a mode that it does not know', () => {
    const users = new StoredUsers();
    users.put({
      ...PLAIN,
      grants: [
        { database: 'a', mode: 'owner' },
        { database: 'b', mode: 'read' },
      ],
    });
    expect(users.find('ann')?.grants).to.deep.equal([{ database: 'b', mode: 'read' }]);
  });
});

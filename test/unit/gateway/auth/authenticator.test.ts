import { expect } from 'chai';

import { Authenticator } from '#services/gateway/auth/authenticator';
import { hashPassword } from '#shared/auth/password';
import { parseUsers, type User } from '#shared/auth/user-file';
import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

describe('Authenticator', function () {
  this.timeout(60_000);
  let users: ReadonlyMap<string, User>;

  before(async () => {
    const hashed = await hashPassword('right', {
      format: 'pbkdf2_sha256',
      iterations: 1000,
      salt: Buffer.from('salt'),
    });
    ({ users } = parseUsers(`hashed=${hashed}\nplain=right`));
  });

  function authenticator(hidesUnknownUsers = false): Authenticator {
    const source = { find: (name: string) => users.get(name), findToken: () => undefined };
    return new Authenticator({ users: source, clock: systemClock, hidesUnknownUsers, onFailure: () => undefined });
  }

  async function outcomeOf(auth: Authenticator, user: string, password: string, address: string): Promise<string> {
    try {
      return (await auth.check({ kind: 'password', user, password }, address)).user;
    } catch (error) {
      return AlmanacError.from(error).code;
    }
  }

  for (const [user, hides] of [
    ['hashed', false],
    ['unknown', true],
  ] as const) {
    it(`bounds the slow checks that clients with many addresses cause, for the user "${user}"`, async () => {
      const auth = authenticator(hides);
      const guesses = Array.from({ length: 100 }, (_, i) => outcomeOf(auth, user, `guess${i}`, `10.0.0.${i}`));
      expect(await outcomeOf(auth, 'plain', 'right', '10.0.1.1')).to.equal('plain');
      const outcomes = await Promise.all(guesses);
      // On a busy machine some of those that wait may not have their turn in time.
      expect(outcomes).to.include('user_password_mismatch').and.to.not.include(user);
      expect(outcomes.filter((outcome) => outcome === 'rate_limited')).to.have.length(67);
      expect(await outcomeOf(auth, 'hashed', 'right', '10.0.1.1')).to.equal('hashed');
    });
  }

  it('does not check a password for an unknown user that the reply reveals', async () => {
    const auth = authenticator();
    const guesses = Array.from({ length: 100 }, (_, i) => outcomeOf(auth, 'unknown', 'x', `10.0.0.${i}`));
    expect(new Set(await Promise.all(guesses))).to.deep.equal(new Set(['user_not_found']));
  });
});

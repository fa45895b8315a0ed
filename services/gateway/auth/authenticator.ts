import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { isPassword, isSlow, parseVerifier, type Verifier } from '#shared/auth/password';
import { isTokenText, tokenHash } from '#shared/auth/token';
import type { User } from '#shared/auth/user-file';
import type { Clock } from '#shared/clock/clock';
import type { Rights } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BoundedQueue } from '#shared/limits/bounded-queue';

import { Attempts } from './attempts.js';
import type { Credentials } from './credentials.js';
import { invalidTicket, sha256, type TicketOwner } from './tickets.js';

/** Finds users. */
export interface UserSource {
  find(name: string): User | undefined;
  /** Finds the user of a token by its SHA-256. */
  findToken(hash: string): User | undefined;
}

/** Options of an `Authenticator`. */
export interface AuthenticatorOptions {
  readonly users: UserSource;
  readonly clock: Clock;
  /** Whether an unknown user gets the error of a wrong password. */
  readonly hidesUnknownUsers: boolean;
  /** Called for each failure. */
  readonly onFailure: (error: AlmanacError, user: string) => void;
}

/** Passwords that were right within this time need no slow check. */
const KEPT_MS = 60_000;
const KEPT_MAX = 10_000;
/** Slow checks that wait for the running one; more get 429. One takes 60 ms and 32 MiB. */
const CHECKS_WAITING_MAX = 32;
const CHECK_WAIT_MS = 10_000;
/** Tickets that are redeemed at once, and that wait: any client can send some. */
const [REDEMPTIONS_MAX, REDEMPTIONS_WAITING_MAX] = [32, 256];
/** Checked for unknown users, so that they take the same time as known ones. */
const NO_USER: Verifier = parseVerifier(`scrypt:15:${'00'.repeat(16)}:${'00'.repeat(32)}`);

/** Finds out who sends a request. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #attempts: Attempts;
  /** What was checked for each user's verifier: a hash with a key of this process. */
  readonly #right: LRUCache<string, { readonly verifier: Verifier; readonly hash: Buffer }>;
  readonly #key = randomBytes(32);
  /** Checks that run, by a hash of their credentials: a client with many connections is checked once. */
  readonly #running = new Map<string, Promise<Rights>>();
  /** One at a time: the log syncs on the same threads of the process, and clients with many addresses would stop writes. */
  readonly #slow: BoundedQueue;
  readonly #redemptions: BoundedQueue;

  constructor(options: AuthenticatorOptions) {
    const { clock } = options;
    this.#options = options;
    this.#attempts = new Attempts(clock);
    this.#slow = new BoundedQueue({
      name: 'password checks',
      runningMax: 1,
      waitingMax: CHECKS_WAITING_MAX,
      clock,
    });
    this.#redemptions = new BoundedQueue({
      name: 'tickets',
      runningMax: REDEMPTIONS_MAX,
      waitingMax: REDEMPTIONS_WAITING_MAX,
      clock,
    });
    this.#right = new LRUCache({
      max: KEPT_MAX,
      ttl: KEPT_MS,
      updateAgeOnGet: true,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /**
   * Checks credentials; at once if they were right within the last minute, or are a known token.
   *
   * @param given a password may be a token of the user, and then has the rights of the token.
   * @param address of the client.
   * @throws `user_not_found`, `user_password_mismatch`; `rate_limited`, `deadline_exceeded` if too many checks wait.
   */
  check(given: Credentials, address: string): Rights | Promise<Rights> {
    const credentials = this.#tokenIn(given) ?? given;
    const known = this.#known(credentials);
    if (known !== undefined) return rightsOf(known, credentials);
    const key = this.#hash(JSON.stringify([address, credentials])).toString('base64');
    const running = this.#running.get(key) ?? this.#attempts.run(address, () => this.#counted(credentials));
    this.#running.set(key, running);
    return running.finally(() => this.#running.delete(key));
  }

  /** Returns what binds a ticket to the credentials that were accepted. @param secret of the ticket. */
  ownerOf(given: Credentials, secret: string): TicketOwner {
    const credentials = this.#tokenIn(given) ?? given;
    if (credentials.kind === 'token') {
      const hash = tokenHash(credentials.token);
      return { user: this.#options.users.findToken(hash)?.name ?? '', tokenHash: hash, verifierHash: '' };
    }
    const user = this.#options.users.find(credentials.user);
    return {
      user: credentials.user,
      tokenHash: '',
      verifierHash: user === undefined ? '' : verifierHash(user, secret),
    };
  }

  /**
   * Does what `check` does for a ticket. Its secret cannot be guessed, so that failures cost an address nothing.
   *
   * @param redeem ends the ticket.
   * @throws the errors of `redeem` and `rightsOfOwner`; `rate_limited`, `deadline_exceeded` if too many are redeemed at once.
   */
  checkTicket(redeem: () => Promise<TicketOwner>, secret: string): Promise<Rights> {
    const check = (): Promise<TicketOwner> => this.#redemptions.run(redeem, { waitMs: CHECK_WAIT_MS });
    return this.#reported('', async () => this.rightsOfOwner(await check(), secret));
  }

  /**
   * Returns what the owner of a ticket may do now.
   *
   * @throws `user_password_mismatch` if the user or the token was dropped, or the password was changed.
   */
  rightsOfOwner({ user: name, tokenHash: hash, verifierHash: bound }: TicketOwner, secret: string): Rights {
    const { users } = this.#options;
    const user = hash === '' ? users.find(name) : users.findToken(hash);
    if (user === undefined || (hash === '' && bound !== verifierHash(user, secret))) throw invalidTicket();
    return { user: user.name, grants: user.grants };
  }

  /** Returns the token that a client sends as the password of its user, because it can send nothing but passwords. */
  #tokenIn(given: Credentials): Credentials | undefined {
    if (given.kind === 'token' || !isTokenText(given.password)) return undefined;
    const owner = this.#options.users.findToken(tokenHash(given.password));
    return owner?.name === given.user ? { kind: 'token', token: given.password } : undefined;
  }

  #counted(credentials: Credentials): Promise<Rights> {
    const user = credentials.kind === 'password' ? credentials.user : '';
    return this.#reported(user, async () => rightsOf(await this.#checked(credentials), credentials));
  }

  async #reported(user: string, check: () => Promise<Rights>): Promise<Rights> {
    try {
      return await check();
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      // What could not be checked was not refused.
      if (error.httpStatus === 401) this.#options.onFailure(error, user);
      throw error;
    }
  }

  /** Returns the user whose credentials were checked before. */
  #known(credentials: Credentials): User | undefined {
    const { users } = this.#options;
    if (credentials.kind === 'token') return users.findToken(tokenHash(credentials.token));
    const user = users.find(credentials.user);
    const right = this.#right.get(credentials.user);
    if (user === undefined || right?.verifier !== user.verifier) return undefined;
    return timingSafeEqual(right.hash, this.#hash(credentials.password)) ? user : undefined;
  }

  async #checked(credentials: Credentials): Promise<User> {
    if (credentials.kind === 'token') {
      const isOfAlmanac = isTokenText(credentials.token);
      const text = isOfAlmanac ? 'Token not found' : 'Unsupported authentication method: bearer token';
      throw new AlmanacError('user_password_mismatch', text);
    }
    const { users, hidesUnknownUsers } = this.#options;
    const { user: name, password } = credentials;
    const user = users.find(name);
    if (user === undefined && !hidesUnknownUsers) {
      throw new AlmanacError('user_not_found', `User not found, username: ${name}`);
    }
    const verifier = user?.verifier ?? NO_USER;
    const isRight = await this.#isPassword(verifier, password);
    // A wrong plain password takes no time; an unknown user must take as long.
    if (!isRight && hidesUnknownUsers && !isSlow(verifier)) await this.#isPassword(NO_USER, password);
    if (user === undefined || !isRight) throw mismatch(name);
    this.#right.set(name, { verifier: user.verifier, hash: this.#hash(password) });
    return user;
  }

  #isPassword(verifier: Verifier, password: string): Promise<boolean> {
    if (!isSlow(verifier)) return isPassword(verifier, password);
    return this.#slow.run(() => isPassword(verifier, password), { waitMs: CHECK_WAIT_MS });
  }

  #hash(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}

function rightsOf({ name, grants, isStored = false }: User, { kind }: Credentials): Rights {
  // A token may leak more easily: it must not be enough to take the account.
  return isStored && kind === 'password' ? { user: name, grants, mayChangePassword: true } : { user: name, grants };
}

/** Returns a hash that changes with the password of a user. */
function verifierHash({ verifier }: User, secret: string): string {
  return sha256(`${secret} ${JSON.stringify(verifier)}`);
}

function mismatch(name: string): AlmanacError {
  return new AlmanacError('user_password_mismatch', `Username and password does not match, username: ${name}`);
}

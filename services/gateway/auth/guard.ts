import type { Call } from '#shared/contracts/call';
import { requireEverywhere, type Rights } from '#shared/contracts/rights';
import type { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestAdmission, RequestContext } from '../request-context.js';
import type { Authenticator } from './authenticator.js';
import { credentialsOf } from './credentials.js';
import type { RequestRates } from './request-rates.js';
import { issueTicket, redeemTicket, ticketOf, type TicketDirectory, type TicketOwner } from './tickets.js';

/** Who may use the paths of the administration. */
export type AdminPolicy = 'open' | 'loopback' | 'required';

/** Options of an `AuthGuard`. */
export interface AuthGuardOptions {
  /** Undefined: there are no users, and no request is refused. */
  readonly authenticator: Authenticator | undefined;
  readonly admin: AdminPolicy;
  /** Whether metrics follow the policy of the administration. */
  readonly metricsNeedRights: boolean;
  readonly rates: RequestRates;
  /** @throws `region_not_ready` while the process starts. */
  readonly tickets: () => TicketDirectory;
}

const PROBES = ['/health', '/ready', '/-/healthy', '/-/ready'];
const NAMES_OF_INFLUX = ['influxdb', 'lineproto'];
const NAMES_OF_SPLUNK = ['splunk', 'eventcollector'];

/** Paths that show only whether the server runs (spec: http-query-admin 9.6). Whole paths, not beginnings. */
const OPEN: ReadonlySet<string> = new Set([
  ...PROBES,
  '/',
  '/v1/health',
  '/v1/openapi.json',
  '/v1/prometheus/-/healthy',
  '/v1/prometheus/-/ready',
  ...NAMES_OF_INFLUX.flatMap((name) => [`/v1/${name}/ping`, `/v1/${name}/health`]),
  ...NAMES_OF_SPLUNK.flatMap((name) => {
    return ['', '/1.0'].map((version) => `/v1/${name}/services/collector/health${version}`);
  }),
]);

/** Decides who may send a request. */
export class AuthGuard implements RequestAdmission {
  readonly #options: AuthGuardOptions;
  /** Requests with a ticket, which is used up. */
  readonly #owners = new WeakMap<RequestContext, TicketOwner>();

  constructor(options: AuthGuardOptions) {
    this.#options = options;
  }

  /**
   * Checks the credentials that a path needs, and gives the request the rights of its user.
   *
   * @throws the errors of `credentialsOf` and `Authenticator.check`; `permission_denied`; `rate_limited`.
   */
  admit(context: RequestContext): void | Promise<void> {
    return this.#check(context, ({ user }) => this.#options.rates.take(user));
  }

  /** Does the same for a request that is running, which is not counted again. */
  readmit(context: RequestContext): void | Promise<void> {
    return this.#check(context, () => undefined);
  }

  #check(context: RequestContext, countData: (rights: Rights) => void): void | Promise<void> {
    const { authenticator } = this.#options;
    const { path } = context;
    if (authenticator === undefined || OPEN.has(path) || isDashboard(path)) return;
    const isData = path === '/v1' || path.startsWith('/v1/');
    if (!isData && this.#isOpenAdmin(context)) return;
    const checked = this.#rightsOf(context, authenticator);
    const admit = (rights: Rights): void => {
      if (isData) countData(rights);
      else requireEverywhere({ rights }, 'admin');
      context.rights = rights;
      context.admission = this;
    };
    return checked instanceof Promise ? checked.then(admit) : admit(checked);
  }

  #rightsOf(context: RequestContext, authenticator: Authenticator): Rights | Promise<Rights> {
    const ticket = ticketOf(context);
    if (ticket === undefined) return authenticator.check(credentialsOf(context), addressOf(context));
    const { secret } = ticket;
    const owner = this.#owners.get(context);
    if (owner !== undefined) return authenticator.rightsOfOwner(owner, secret);
    // A cache would return the reply to others.
    context.response.setHeader('cache-control', 'no-store');
    const redeem = async (): Promise<TicketOwner> => {
      const found = await redeemTicket(this.#options.tickets(), ticket, context.requestId);
      this.#owners.set(context, found);
      return found;
    };
    return authenticator.checkTicket(redeem, secret);
  }

  async issueTicket(context: RequestContext, target: string, call: Call): Promise<string> {
    const { authenticator, tickets } = this.#options;
    if (authenticator === undefined) return target;
    const credentials = credentialsOf(context);
    return issueTicket(tickets(), (secret) => authenticator.ownerOf(credentials, secret), target, call);
  }

  #isOpenAdmin(context: RequestContext): boolean {
    const { admin, metricsNeedRights } = this.#options;
    if (context.path === '/metrics' && !metricsNeedRights) return true;
    return admin === 'open' || (admin === 'loopback' && isLoopback(addressOf(context)));
  }
}

/** The page itself has no data; its requests are checked. */
function isDashboard(path: string): boolean {
  return path === '/dashboard' || path.startsWith('/dashboard/');
}

function addressOf({ request }: RequestContext): string {
  return request.socket.remoteAddress ?? '';
}

/** Whether an IP address is one of this machine. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

/** Returns the headers of a reply that refuses a request: how to send credentials, unless a script reads the reply. */
export function challengeOf(context: RequestContext, error: AlmanacError): Readonly<Record<string, string>> {
  const isScript = context.request.headers['x-requested-with']?.toString().toLowerCase() === 'xmlhttprequest';
  return error.httpStatus !== 401 || isScript || ticketOf(context) !== undefined
    ? {}
    : { 'www-authenticate': 'Basic realm="almanac"' };
}

import { Channel, type ChannelOptions } from '@grpc/grpc-js';

import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';

import { contractOf, type ContractName, type Contracts, type Method } from './contract.js';
import { clientCredentials } from './credentials.js';
import { Exchange, type Link } from './exchange.js';
import { commonOptions, MESSAGE_BYTES_MAX, type TransportOptions } from './options.js';

/** Options of a connection to a peer. */
export interface ConnectOptions extends TransportOptions {
  readonly clock: Clock;
  /** Name of the peer in error messages: `metadata`, `node 3 (ingester)`. Without it they name the method. */
  readonly name?: string;
  /** How long a call waits for a connection before it fails; default 1 s, `undefined`: up to its deadline. */
  readonly connectMs?: number | undefined;
  /** Whether a peer that refuses connections is retried for that time; otherwise calls fail at once. */
  readonly isPatient?: boolean;
}

/** One connection, opened at the first call and again whenever it is lost. */
export interface Connection {
  readonly address: string;
  /** Returns the peer's service of that name; all services share the connection. */
  client<Name extends ContractName>(name: Name): Contracts[Name];
  /** Fails running calls with `external`. May be called twice. */
  close(): void;
}

const CONNECT_MS = 1_000;
/** By default grpc-js waits up to 2 minutes between attempts, and caches name lookups for 30 s. */
const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 2_000;
const RESOLVE_MS = 1_000;
/** Receive window: the default of 64 KiB makes a network with a latency of 1 ms slow. */
const WINDOW_BYTES = 1 << 20;

/** Creates a connection to `host:port`. Nothing is sent yet. */
export function connect(address: string, options: ConnectOptions): Connection {
  const { credentials, tlsFailure } = clientCredentials(options.tls, address);
  const channel = new Channel(address, credentials, channelOptions(options));
  const link: Link = {
    channel,
    address,
    name: options.name,
    secret: options.secret,
    tlsFailure,
    clock: options.clock,
    messageBytesMax: options.messageBytesMax ?? MESSAGE_BYTES_MAX,
    connectMs: 'connectMs' in options ? options.connectMs : CONNECT_MS,
    isPatient: options.isPatient ?? ('connectMs' in options && options.connectMs === undefined),
  };
  return {
    address,
    client: <Name extends ContractName>(name: Name) => clientOf(link, contractOf(name).methods) as Contracts[Name],
    close: () => channel.close(),
  };
}

function channelOptions(options: ConnectOptions): ChannelOptions {
  return {
    ...commonOptions(options),
    'grpc.initial_reconnect_backoff_ms': RECONNECT_MS,
    'grpc.max_reconnect_backoff_ms': RECONNECT_MS_MAX,
    'grpc.dns_min_time_between_resolutions_ms': RESOLVE_MS,
    'grpc-node.flow_control_window': WINDOW_BYTES,
    // Proxies in the environment are meant for the Internet, not for neighbours.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  };
}

function clientOf(link: Link, methods: readonly Method[]): object {
  return Object.fromEntries(
    methods.map((method) => {
      const run = method.isStream ? stream : unary;
      return [method.name, (request: object, call: Call) => run(link, method, request, call)];
    }),
  );
}

async function unary(link: Link, method: Method, request: object, call: Call): Promise<object> {
  const exchange = open(link, method, request, call);
  const answer = await exchange.next();
  if (answer === undefined) throw exchange.unanswered('did not reply');
  // A reply counts once the peer has reported success.
  await exchange.next();
  return method.response.decode(answer);
}

async function* stream(link: Link, method: Method, request: object, call: Call): AsyncGenerator<object> {
  const exchange = open(link, method, request, call);
  try {
    for (let answer; (answer = await exchange.next()) !== undefined;) yield method.response.decode(answer);
  } finally {
    exchange.cancel();
  }
}

function open(link: Link, method: Method, request: object, call: Call): Exchange {
  return new Exchange(link, { ...method, message: method.request.encode(request) }, call);
}

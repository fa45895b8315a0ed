import { Channel, credentials, type ChannelOptions } from '@grpc/grpc-js';

import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';

import { contractOf, type ContractName, type Contracts, type Method } from './contract.js';
import { Exchange, type Link } from './exchange.js';
import { commonOptions, MESSAGE_BYTES_MAX, type TransportOptions } from './options.js';

export interface ConnectOptions extends TransportOptions {
  readonly clock: Clock;
  /** Who is there, for the texts of errors: `metadata`, `node 3 (ingester)`. Without it they name the method. */
  readonly name?: string;
  /** How long a call waits for a connection before it fails; 1 s if not given, `undefined`: up to its deadline. */
  readonly connectMs?: number | undefined;
  /** Whether a peer that refuses connections is tried again for that time; otherwise it fails calls at once. */
  readonly isPatient?: boolean;
}

/** One connection, made at the first call and again whenever it is lost. */
export interface Connection {
  readonly address: string;
  /** The peer's service of that name; all of one connection share it. */
  client<Name extends ContractName>(name: Name): Contracts[Name];
  /** Ends the calls that run with `external`. May come twice. */
  close(): void;
}

const CONNECT_MS = 1_000;
/** By default grpc-js waits up to 2 minutes between attempts, and keeps what a name stood for for 30 s. */
const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 2_000;
const RESOLVE_MS = 1_000;
/** How much of an answer is under way before it is taken: 64 KiB by default, which a network of 1 ms makes slow. */
const WINDOW_BYTES = 1 << 20;

/** A connection to `host:port`. Nothing is sent yet. */
export function connect(address: string, options: ConnectOptions): Connection {
  const channel = new Channel(address, credentials.createInsecure(), channelOptions(options));
  const link: Link = {
    channel,
    address,
    name: options.name,
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
    // What the environment says about proxies is meant for the way out, not for neighbours.
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
  if (answer === undefined) throw exchange.unanswered('did not answer');
  // An answer counts when the peer has said that all went well.
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

import { logVerbosity, setLogVerbosity, type ChannelOptions } from '@grpc/grpc-js';

/** What both ends of a connection have in common. */
export interface TransportOptions {
  /** Bound of one message, sent or received; 128 MiB if not given. */
  readonly messageBytesMax?: number | undefined;
  /** A peer that is silent for so long is asked for a sign; 10 s if not given. */
  readonly keepaliveMs?: number | undefined;
}

export const MESSAGE_BYTES_MAX = 128 << 20;
const KEEPALIVE_MS = 10_000;
/** How long the sign may take: an event loop may be busy for seconds under load. */
const KEEPALIVE_TIMEOUT_MS = 5_000;

/** Carries the request id; the ending makes gRPC carry any bytes. */
export const REQUEST_ID_KEY = 'almanac-request-id-bin';
/** Deadlines further away than timers reach are none. */
export const DEADLINE_MS_MAX = 2 ** 31 - 1;

export function commonOptions({ messageBytesMax, keepaliveMs }: TransportOptions): ChannelOptions {
  // What it writes to the console by itself comes as an error as well.
  setLogVerbosity(logVerbosity.NONE);
  return {
    'grpc.max_receive_message_length': messageBytesMax ?? MESSAGE_BYTES_MAX,
    'grpc.max_send_message_length': messageBytesMax ?? MESSAGE_BYTES_MAX,
    'grpc.keepalive_time_ms': keepaliveMs ?? KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.enable_channelz': 0,
  };
}

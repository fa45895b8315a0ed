import { logVerbosity, setLogVerbosity, type ChannelOptions } from '@grpc/grpc-js';

import type { CertificateSource } from '#shared/tls/certificate-source';

/** Options of both ends of a connection. */
export interface TransportOptions {
  /** Largest message, sent or received; default 128 MiB. */
  readonly messageBytesMax?: number | undefined;
  /** A peer that is silent for this long is pinged; default 10 s. */
  readonly keepaliveMs?: number | undefined;
  /** Known to all processes of the cluster; undefined: none is sent or expected. */
  readonly secret?: string | undefined;
  /** Undefined: connections are not encrypted. */
  readonly tls?: PeerTls | undefined;
}

/** Mutual TLS: both ends show a certificate that a CA of the cluster has signed. */
export interface PeerTls {
  readonly certificates: CertificateSource;
  /** Whether the certificate of a server must also name the address at which it is called. */
  readonly verifiesAddress: boolean;
}

/** Default of `TransportOptions.messageBytesMax`. */
export const MESSAGE_BYTES_MAX = 128 << 20;
const KEEPALIVE_MS = 10_000;
/** How long a ping may take: an event loop may be busy for seconds under load. */
const KEEPALIVE_TIMEOUT_MS = 5_000;

/** Metadata key of the request ID; the suffix lets gRPC carry any bytes. */
export const REQUEST_ID_KEY = 'almanac-request-id-bin';
/** Metadata key of the secret of the cluster. */
export const SECRET_KEY = 'almanac-secret-bin';
/** Metadata key of the caller's rights. */
export const RIGHTS_KEY = 'almanac-rights-bin';
/** Metadata key of the caller's place in a trace, in the form of W3C. */
export const TRACEPARENT_KEY = 'traceparent';
/** Longest delay of a timer; later deadlines are not enforced. */
export const DEADLINE_MS_MAX = 2 ** 31 - 1;

/** Returns the grpc-js options for both ends of a connection. */
export function commonOptions({ messageBytesMax, keepaliveMs }: TransportOptions): ChannelOptions {
  // Everything that grpc-js would write to the console is also reported as an error.
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

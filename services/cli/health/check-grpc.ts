import { connect, type IncomingHttpHeaders } from 'node:http2';

import { systemClock } from '#shared/clock/clock';

/** An empty `HealthCheckRequest`, which means the process as a whole: no flags, length 0. */
const REQUEST = Buffer.alloc(5);
const FRAME_HEAD_BYTES = 5;
/** `HealthCheckResponse.status`, field 1 as a varint. */
const STATUS_TAG = 0x08;
const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const SERVING = 1;

/** Codes of a connection that the peer ends; which one comes first is chance. */
const CLOSED_BY_PEER = /^(ECONNRESET|EPIPE|ERR_SSL_.*ALERT.*|ERR_HTTP2_.*)$/;
const MAY_NEED_TLS = ': if the process uses grpc.tls, run the probe with the same configuration';
const NOT_ACCEPTED = ', as if it did not accept the certificate of grpc.tls, or did not use TLS';

/** Certificate with which a probe calls a process that requires one. */
export interface ProbeCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Calls the standard gRPC health service over HTTP/2 itself: a gRPC library takes longer to load than a probe should run.
 *
 * @param certificate undefined: the process does not use TLS.
 * @returns why the process at `host:port` is not ready; undefined if it is.
 */
export function checkGrpc(
  address: string,
  timeoutMs: number,
  certificate: ProbeCertificate | undefined,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session =
      certificate === undefined
        ? connect(`http://${address}`)
        : // A probe sends no secrets, and the server may still use the certificate of the former files.
          connect(`https://${address}`, { ...certificate, servername: '', rejectUnauthorized: false });
    const timer = systemClock.after(timeoutMs, () => fail(new Error(`no reply within ${timeoutMs / 1000} s`)));
    const settle = (problem: string | undefined): void => {
      timer.cancel();
      resolve(problem);
      session.destroy();
    };
    const hint = certificate === undefined ? MAY_NEED_TLS : NOT_ACCEPTED;
    const fail = ({ code = '', message }: NodeJS.ErrnoException): void => {
      settle(`${address}: ${code === '' ? message : code}${CLOSED_BY_PEER.test(code) ? hint : ''}`);
    };
    session.on('error', fail);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let head: IncomingHttpHeaders = {};
    const body: Buffer[] = [];
    // A refusal without a message has its status in the first headers, everything else in the trailers.
    stream.on('response', (headers) => (head = headers));
    stream.on('trailers', (trailers: IncomingHttpHeaders) => (head = { ...head, ...trailers }));
    stream.on('data', (bytes: Buffer) => body.push(bytes));
    // A failed connection is the cause of the stream's error.
    stream.on('error', (error: Error) => fail((error.cause ?? error) as NodeJS.ErrnoException));
    stream.on('end', () => {
      const hasReply = head[':status'] !== undefined;
      settle(
        hasReply ? problemOf(head, Buffer.concat(body)) : `${address}: the connection ended without a reply${hint}`,
      );
    });
    stream.end(REQUEST);
  });
}

function problemOf(head: IncomingHttpHeaders, body: Buffer): string | undefined {
  const code = head['grpc-status'];
  if (code === undefined) return `not a gRPC server (HTTP status ${String(head[':status'])})`;
  if (code !== '0') return `gRPC status ${String(code)} ${plainMessage(head['grpc-message'])}`.trim();
  // A status of 0 is the default and may be omitted.
  const status = body[FRAME_HEAD_BYTES] === STATUS_TAG ? body[FRAME_HEAD_BYTES + 1] : 0;
  return status === SERVING ? undefined : (STATUSES[status] ?? `status ${status}`);
}

/** Decodes a message, in which characters that a header cannot hold are percent-encoded. */
function plainMessage(message: string | string[] | undefined): string {
  const text = String(message ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

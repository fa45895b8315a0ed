import { isTokenText } from '#shared/auth/token';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../request-context.js';

/** What a request gives to show who sends it. */
export type Credentials =
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string };

const LINE_PROTOCOL = /^\/v1\/(influxdb|lineproto)(\/|$)/;
const EVENT_COLLECTOR = /^\/v1\/(splunk|eventcollector)(\/|$)/;
/** Clients of Splunk may give any user with a token as the password. */
const TOKEN_LENGTH_MIN = 32;

/** Whether a path is one of the line protocol, whose clients read other error texts. */
export function isLineProtocol(path: string): boolean {
  return LINE_PROTOCOL.test(path);
}

/** Whether a path is one of the event collector. */
export function isEventCollector(path: string): boolean {
  return EVENT_COLLECTOR.test(path);
}

/**
 * Reads the credentials of a request, wherever its protocol carries them (spec: http-query-admin 9.3).
 *
 * @throws `auth_header_not_found`, `invalid_auth_header`, and `invalid_arguments` with HTTP 401 for a blank user or password.
 */
export function credentialsOf(context: RequestContext): Credentials {
  const { path, query } = context;
  const header = context.productHeader('auth') ?? context.request.headers.authorization;
  if (header !== undefined) return fromHeader(header, isEventCollector(path));
  if (isLineProtocol(path)) {
    const [user, password] = [query.get('u'), query.get('p')];
    if (user !== null || password !== null) return passwordOf(user ?? '', password ?? '');
    throw new AlmanacError('auth_header_not_found', 'Not found influx http authorization info');
  }
  throw new AlmanacError('auth_header_not_found', 'Not found http or grpc authorization header');
}

function fromHeader(header: string, isOfSplunk: boolean): Credentials {
  const [, scheme, value] = /^([A-Za-z-]+) ([^ ]+)$/.exec(header.trim()) ?? [];
  if (scheme === undefined || value === undefined) throw invalidHeader('Invalid http authorization header');
  switch (scheme.toLowerCase()) {
    case 'basic': {
      const found = fromPair(decoded(value));
      const isToken = isOfSplunk && found.kind === 'password' && found.password.length >= TOKEN_LENGTH_MIN;
      return isToken && isTokenText(found.password) ? { kind: 'token', token: found.password } : found;
    }
    case 'bearer':
      if (!value.includes(':')) return { kind: 'token', token: value };
      throw invalidHeader('Invalid http authorization header');
    case 'token':
    case 'splunk':
      return value.includes(':') ? fromPair(value) : { kind: 'token', token: value };
    default:
      throw invalidHeader(`Unsupported http auth scheme, name: ${scheme.toLowerCase().slice(0, 60)}`);
  }
}

function decoded(value: string): string {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) throw invalidHeader('Invalid base64 value');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'base64'));
  } catch {
    throw invalidHeader('Invalid utf-8 value');
  }
}

function fromPair(text: string): Credentials {
  const colon = text.indexOf(':');
  if (colon < 0) throw invalidHeader('Invalid http authorization header');
  return passwordOf(text.slice(0, colon), text.slice(colon + 1));
}

function passwordOf(user: string, password: string): Credentials {
  if (user === '') throw blank('username');
  if (password === '') throw blank('password');
  return { kind: 'password', user, password };
}

function blank(what: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Illegal param: blank ${what}`, { http: 401 });
}

function invalidHeader(text: string): AlmanacError {
  return new AlmanacError('invalid_auth_header', text);
}

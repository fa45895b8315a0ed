import { expect } from 'chai';

import type { HttpApi } from './almanac.js';
import { send } from './http-client.js';

/** Returns the header of a user with a password. */
export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** A reply of a gateway. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request with an `Authorization` header; with a body, a POST. */
export function sendAs(url: string, authorization: string, body?: string): Promise<Answer> {
  const init = body === undefined ? {} : { method: 'POST', body };
  return send(url, { ...init, headers: { authorization, 'content-type': 'text/plain' } });
}

/** Runs SQL as a user. */
export function sqlAs(api: HttpApi, text: string, authorization: string, database = 'public'): Promise<Answer> {
  return sendAs(`${api.url}/v1/sql?db=${database}`, authorization, text);
}

/** Writes a point as a user. */
export function writeAs(api: HttpApi, authorization: string, database = 'public'): Promise<Answer> {
  return sendAs(`${api.url}/v1/lineproto/write?db=${database}`, authorization, 'cpu,host=a usage=1 1000000000');
}

/** Returns the rows of a statement that has to succeed. */
export function rowsIn({ status, text }: Answer): unknown[][] {
  expect(status, text).to.equal(200);
  return (JSON.parse(text) as { output: [{ records: { rows: unknown[][] } }] }).output[0].records.rows;
}

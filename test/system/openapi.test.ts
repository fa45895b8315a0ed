import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { committedDocument, operationsOf, resolved, type Operation, type Part } from '#test/support/openapi-requests';
import { tempFolder } from '#test/support/temp-folder';

const document = committedDocument();
const operations = operationsOf(document);

/** Types of bodies that no example can show as text, and replies that do not end or that need an upgrade. */
const isBinaryOrEndless = (operation: Operation, body: Part | undefined): boolean =>
  isEndless(operation) || Object.values(contentOf(body)).some((it) => formatOf(it as Part) === 'binary');

function isEndless({ responses }: Operation): boolean {
  return responses['101'] !== undefined || contentOf(responses['200'])['text/event-stream'] !== undefined;
}

function contentOf(part: Part | undefined): Part {
  return (part?.['content'] ?? {}) as Part;
}

function formatOf({ schema }: Part): unknown {
  return resolved(document, schema ?? {})['format'];
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (target: Ajv2020) => void)(ajv);
ajv.addFormat('binary', true);
ajv.addSchema(document, 'openapi');

/** Returns the errors of a JSON value, or of a text, against the schema of a response. */
function errorsOf(value: unknown, schema: unknown): unknown {
  const rooted = JSON.parse(JSON.stringify(schema), (key, member: unknown) =>
    key === '$ref' ? `openapi${String(member)}` : member,
  ) as Part;
  const validate = ajv.compile(rooted);
  return validate(value) ? [] : validate.errors;
}

/** Returns the response of the document for a status: its own, or that of its class. */
function responseFor({ responses }: Operation, status: number): Part | undefined {
  return responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`];
}

/** Fails unless a reply is as the document describes it. */
async function checkReply(operation: Operation, response: Response): Promise<void> {
  const text = await response.text();
  const documented = responseFor(operation, response.status);
  expect(documented, `${response.status} ${text}`).to.not.equal(undefined);
  const content = contentOf(documented);
  if (Object.keys(content).length === 0) return void expect(text).to.equal('');
  const type = response.headers.get('content-type') ?? '';
  const entry = content[type] ?? content[type.split(';')[0]] ?? content['*/*'];
  expect(entry, `content type "${type}"`).to.not.equal(undefined);
  const value: unknown = type.startsWith('application/json') ? JSON.parse(text) : text;
  expect(errorsOf(value, (entry as Part)['schema']), text.slice(0, 2_000)).to.deep.equal([]);
}

function sendExample(url: string, { method, target, headers, body }: Operation): Promise<Response> {
  return fetch(url + target, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) });
}

describe('document of the HTTP API', function () {
  this.timeout(120_000);
  let almanac: Almanac;
  let secured: Almanac;
  let cleanUp: () => void = () => undefined;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const users = join(folder, 'users');
    writeFileSync(users, 'root:admin=secret\n');
    [almanac, secured] = await Promise.all([
      Almanac.start(join(folder, 'open')),
      Almanac.start(join(folder, 'secured'), {
        environment: {
          ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${users}`,
          ALMANAC_STANDALONE__AUTH__ADMIN: 'required',
          ALMANAC_STANDALONE__AUTH__METRICS: 'required',
        },
      }),
    ]);
  });

  after(async () => {
    await Promise.all([almanac.kill(), secured.kill()]);
    cleanUp();
  });

  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(document);
    expect(errors ?? []).to.deep.equal([]);
    expect(valid).to.equal(true);
    expect(document['openapi']).to.equal('3.1.0');
  });

  it('is the one that a server returns', async () => {
    const { status, text } = await almanac.get('/v1/openapi.json');
    expect(status).to.equal(200);
    expect(JSON.parse(text)).to.deep.equal(document);
  });

  it('has an example for every operation, except those of binary and endless bodies', () => {
    const paths = document['paths'] as Part;
    const without = operations.filter((operation) => {
      const methods = resolved(document, paths[operation.template]);
      const { requestBody } = methods[operation.method.toLowerCase()] as Part;
      return !operation.hasExample && !isBinaryOrEndless(operation, requestBody as Part | undefined);
    });
    expect(without.map(({ method, template }) => `${method} ${template}`)).to.deep.equal([]);
    expect(operations.filter(({ hasExample }) => hasExample).length).to.be.greaterThan(0.9 * operations.length);
  });

  const finite = operations.filter((it) => it.hasExample && !isEndless(it));
  for (const operation of finite) {
    const { method, target, exampleStatus } = operation;
    it(`${method} ${target} replies as described`, async () => {
      const response = await sendExample(almanac.url, operation);
      if (exampleStatus === undefined) expect(response.ok, `status ${response.status}`).to.equal(true);
      else expect(response.status).to.equal(exampleStatus);
      await checkReply(operation, response);
    });
  }

  it('lists all methods of each path', async () => {
    const byTemplate = new Map<string, Operation[]>();
    for (const operation of operations) {
      byTemplate.set(operation.template, [...(byTemplate.get(operation.template) ?? []), operation]);
    }
    for (const [template, all] of byTemplate) {
      const path = template.replaceAll(/\{\w+\}/g, 'x');
      const response = await fetch(almanac.url + path, { method: 'PATCH' });
      expect(response.status, template).to.equal(405);
      const documented = all.map(({ method }) => method);
      const allowed = (response.headers.get('allow') ?? '').split(', ').filter((method) => method !== 'HEAD');
      expect(allowed.sort(), template).to.deep.equal(documented.sort());
    }
  });

  it('says which operations need credentials, and what the reply is without them', async () => {
    for (const operation of operations) {
      const response = await sendExample(secured.url, operation);
      if (operation.isOpen) {
        expect(response.status, operation.target).to.not.equal(401);
        await response.arrayBuffer();
      } else {
        expect(response.status, operation.target).to.equal(401);
        await checkReply(operation, response);
      }
    }
  });

  it('is returned without credentials, in the encodings and with the tag that clients name', async () => {
    const url = `${secured.url}/v1/openapi.json`;
    const whole = await fetch(url, { headers: { 'accept-encoding': 'br' } });
    expect(whole.headers.get('content-encoding')).to.equal('br');
    expect(await whole.json()).to.deep.equal(document);
    const etag = whole.headers.get('etag') ?? '';
    const known = await fetch(url, { headers: { 'if-none-match': etag } });
    expect(known.status).to.equal(304);
    expect(await known.text()).to.equal('');
  });
});

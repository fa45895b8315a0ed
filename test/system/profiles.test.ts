import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { expect } from 'chai';
import { Profile } from 'pprof-format';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { freePort } from '#test/support/free-port';
import { tempFolder } from '#test/support/temp-folder';

const CPU = '/debug/prof/cpu';
const HEAP = '/debug/prof/mem';

/** Names of the functions in a profile that an independent reader finds, with their source files. */
function functionsOf(pprof: Uint8Array): { readonly names: string[]; readonly types: string[] } {
  const profile = Profile.decode(gunzipSync(pprof));
  const { strings } = profile.stringTable;
  return {
    names: profile.function.map(({ name, filename }) => `${strings[Number(name)]} ${strings[Number(filename)]}`),
    types: profile.sampleType.map(({ type, unit }) => `${strings[Number(type)]}/${strings[Number(unit)]}`),
  };
}

describe('profiles', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;
  let publicUrl: string;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    const publicAddress = `127.0.0.1:${await freePort()}`;
    publicUrl = `http://${publicAddress}`;
    const environment = {
      ALMANAC_STANDALONE__HTTP__ENABLE_API_SERVER: 'true',
      ALMANAC_STANDALONE__HTTP__API_SERVER_ADDR: publicAddress,
    };
    almanac = await Almanac.start(folder, { environment });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const call = (path: string, init: RequestInit = {}): Promise<Response> => fetch(almanac.url + path, init);
  const post = (path: string, body?: RequestInit['body']): Promise<Response> =>
    call(path, { method: 'POST', body: body ?? null });

  /** Writes lines until the profile is there. */
  async function underLoad<T>(run: () => Promise<T>): Promise<T> {
    let isDone = false;
    const result = run().finally(() => (isDone = true));
    const lines = Array.from({ length: 5000 }, (_, i) => `cpu,host=h${i % 100} usage=${i}.5 ${i + 1}`).join('\n');
    while (!isDone) await almanac.write(lines);
    return result;
  }

  it('takes a CPU profile that names the hot functions of ingest by their sources', async () => {
    const response = await underLoad(() => post(`${CPU}?seconds=2&frequency=500`));
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/octet-stream');
    const { names, types } = functionsOf(new Uint8Array(await response.arrayBuffer()));
    expect(types).to.deep.equal(['samples/count', 'cpu/nanoseconds']);
    expect(names.some((name) => name.includes('services/gateway/protocols/lineproto/'))).to.equal(true);
    expect(names.some((name) => name.startsWith('thread main'))).to.equal(true);
    expect(names.some((name) => name.startsWith('(native threads'))).to.equal(true);
  });

  it('prints and draws a CPU profile', async () => {
    const text = await underLoad(async () => (await call(`${CPU}?seconds=1&output=text`)).text());
    expect(text).to.match(/^cpu: [0-9.]+ ms in 1\.[0-9] s\n/);
    expect(text).to.contain('services/');
    const response = await underLoad(() => call(`${CPU}?seconds=1&output=flamegraph`));
    expect(response.headers.get('content-type')).to.equal('image/svg+xml');
    expect(await response.text())
      .to.contain('<svg')
      .and.to.contain('thread main');
  });

  it('returns a CPU profile as JSON, in which the stacks add up to the whole', async () => {
    const response = await underLoad(() => call(`${CPU}?seconds=1&output=json`));
    expect(response.headers.get('content-type')).to.equal('application/json');
    const profile = (await response.json()) as {
      unit: string;
      total: number;
      duration_ms: number;
      frames: { name: string; file: string; line: number }[];
      stacks: number[][];
      values: number[];
    };
    expect(profile.unit).to.equal('nanoseconds');
    expect(profile.duration_ms).to.be.within(900, 60_000);
    expect(profile.values).to.have.length(profile.stacks.length);
    expect(profile.values.reduce((sum, value) => sum + value, 0)).to.equal(profile.total);
    const texts = profile.stacks.map((stack) => stack.join(' '));
    expect(new Set(texts).size).to.equal(texts.length);
    // The outermost call comes first.
    const first = new Set(profile.stacks.map(([frame]) => profile.frames[frame].name));
    expect([...first].every((name) => name.startsWith('thread ') || name.startsWith('('))).to.equal(true);
    expect(profile.frames.some(({ file, line }) => file.startsWith('services/') && line > 0)).to.equal(true);
  });

  it('takes one CPU profile at a time, and ends with its client', async () => {
    const abort = new AbortController();
    const first = call(`${CPU}?seconds=300`, { signal: abort.signal }).catch((error: unknown) => error);
    await eventually(async () => (await call(`${CPU}?seconds=1&output=text`)).status === 409);
    abort.abort();
    await first;
    await eventually(async () => (await call(`${CPU}?seconds=1&output=text`)).status === 200);
  });

  for (const query of ['seconds=0', 'seconds=301', 'seconds=1.5', 'frequency=0', 'frequency=1001', 'output=svg']) {
    it(`refuses ${query}`, async () => {
      const response = await post(`${CPU}?${query}`);
      expect(response.status).to.equal(400);
      expect(await response.json()).to.include({ code: 1004 });
    });
  }

  it('profiles memory while that is active', async () => {
    expect(await (await call(`${HEAP}/status`)).json()).to.deep.equal({ active: false });
    const refused = await post(HEAP);
    expect(refused.status).to.equal(400);
    expect(await refused.json()).to.include({ error: 'Memory profiling is not enabled' });
    expect(await (await post(`${HEAP}/activate`)).text()).to.equal('Heap profiling activated');
    expect(await (await call(`${HEAP}/status`)).json()).to.deep.equal({ active: true });
    await almanac.write(Array.from({ length: 20_000 }, (_, i) => `mem,host=h${i} used=${i} ${i + 1}`).join('\n'));
    const text = await (await post(HEAP)).text();
    expect(text)
      .to.match(/^inuse_space: [0-9.]+ KiB\n/)
      .and.to.contain('(native memory');
    const proto = new Uint8Array(await (await post(`${HEAP}?output=proto`)).arrayBuffer());
    const { names, types } = functionsOf(proto);
    expect(types).to.deep.equal(['inuse_objects/count', 'inuse_space/bytes']);
    expect(names).to.include('thread main ');
    expect(await (await post(`${HEAP}?output=flamegraph`)).text()).to.contain('<title>inuse_space</title>');
    expect(await (await post(`${HEAP}?output=json`)).json()).to.include({ unit: 'bytes' });
    expect(await (await post(`${HEAP}/deactivate`)).text()).to.equal('Heap profiling deactivated');
    expect((await post(HEAP)).status).to.equal(400);
  });

  it('writes a heap profile at a peak of memory', async () => {
    const turn = (value: string): Promise<Response> => post(`${HEAP}/gdump`, new URLSearchParams({ activate: value }));
    expect((await turn('true')).status, 'sampling is off').to.equal(400);
    await post(`${HEAP}/activate`);
    expect((await post(`${HEAP}/gdump`)).status, 'no field').to.equal(400);
    expect(await (await turn('true')).text()).to.equal('gdump activated');
    expect(await (await call(`${HEAP}/gdump`)).json()).to.deep.equal({ active: true });
    const profiles = join(folder, 'profiles');
    const isProfile = (name: string): boolean => /^heap-.*\.pb\.gz$/.test(name);
    await eventually(() => existsSync(profiles) && readdirSync(profiles).some(isProfile));
    expect(await (await turn('false')).text()).to.equal('gdump deactivated');
    expect(await (await call(`${HEAP}/gdump`)).json()).to.deep.equal({ active: false });
    await post(`${HEAP}/deactivate`);
  });

  it('draws uploaded profiles in every form', async () => {
    const frame = (functionName: string): object => ({ functionName, url: '', lineNumber: 0, columnNumber: 0 });
    const heap = {
      head: {
        callFrame: frame('(root)'),
        selfSize: 0,
        children: [{ callFrame: frame('<keep&>'), selfSize: 4096, children: [] }],
      },
    };
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2] },
      { id: 2, callFrame: frame('<keep&>') },
    ];
    const cpu = { nodes, startTime: 0, endTime: 2000, samples: [2, 2], timeDeltas: [1000, 1000] };
    const pprof = await (await call(`${CPU}?seconds=1`)).arrayBuffer();
    const uploads: [Uint8Array | string, string][] = [
      [JSON.stringify(heap), '&lt;keep&amp;&gt;: 4.0 KiB, 100.00 %'],
      [JSON.stringify(cpu), '&lt;keep&amp;&gt;: 2.0 ms, 100.00 %'],
      ['main;work 3\nmain 1\n', 'work: 3.0 samples, 75.00 %'],
      [new Uint8Array(pprof), 'thread main'],
      [gunzipSync(new Uint8Array(pprof)), 'thread main'],
    ];
    for (const [upload, expected] of uploads) {
      const response = await post(`${HEAP}/symbol`, upload as RequestInit['body']);
      expect(await response.text()).to.contain(expected);
      expect(response.headers.get('content-type')).to.equal('image/svg+xml');
      expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
    }
    const form = new FormData();
    form.set('file', new Blob(['main;work 3\n']), 'stacks.txt');
    expect(await (await post(`${HEAP}/symbol`, form)).text()).to.contain('work: 3.0 samples');
  });

  it('refuses uploads that are no profiles', async () => {
    const loop = {
      nodes: [{ id: 1, callFrame: { functionName: 'a', url: '' }, children: [1] }],
      samples: [1],
      timeDeltas: [1],
    };
    const uploads: [string, number][] = [
      ['heap_v2/524288\n', 415],
      ['', 400],
      ['{"head":{}}', 400],
      ['{"nodes":[1]', 400],
      ['[]', 400],
      [JSON.stringify(loop), 400],
      ['\u001f\u008b broken', 400],
    ];
    for (const [upload, status] of uploads) {
      const response = await post(`${HEAP}/symbol`, Buffer.from(upload, 'latin1'));
      expect(response.status, upload).to.equal(status);
      expect(await response.json(), upload).to.have.property('error');
    }
  });

  it('refuses uploads while many wait, and accepts them afterwards', async () => {
    const uploads = Array.from({ length: 40 }, () => post(`${HEAP}/symbol`, 'main;work 3\n'));
    const responses = await Promise.all(uploads);
    const refused = responses.filter(({ status }) => status === 429);
    expect(responses.filter(({ status }) => status === 200)).to.have.length(40 - refused.length);
    expect(refused).to.not.be.empty;
    expect(refused[0].headers.get('retry-after')).to.equal('5');
    expect(await refused[0].json())
      .to.have.property('error')
      .that.contains('profiles are being processed');
    expect((await post(`${HEAP}/symbol`, 'main;work 3\n')).status).to.equal(200);
  });

  it('reads no map of another program for a path in an upload', async () => {
    const callFrame = { functionName: 'f', url: 'file:///etc/passwd', lineNumber: 0, columnNumber: 0 };
    const heap = { head: { callFrame, selfSize: 1, children: [] } };
    const text = await (await post(`${HEAP}/symbol`, JSON.stringify(heap))).text();
    expect(text).to.contain('f (/etc/passwd:1)');
  });

  it('changes the log filter while it runs', async () => {
    expect(await (await call('/debug/log_level')).text()).to.equal('info\n');
    const changed = await post('/debug/log_level', 'info,gateway=debug\n');
    expect(await changed.text()).to.equal('Log Level changed from info to info,gateway=debug');
    const refused = await post('/debug/log_level', 'loud');
    expect(refused.status).to.equal(400);
    expect(await (await call('/debug/log_level?node=all')).text()).to.equal('info,gateway=debug\n');
    expect((await post('/debug/log_level?node=77', 'info')).status).to.equal(400);
    expect(await (await post('/debug/log_level?node=all', 'INFO')).text()).to.match(/ to /);
  });

  it('is not on the public listener', async () => {
    for (const path of [CPU, HEAP, `${HEAP}/status`, '/debug/log_level']) {
      const response = await fetch(publicUrl + path);
      expect(response.status, path).to.equal(404);
    }
  });
});

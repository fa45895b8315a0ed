import { expect } from 'chai';

import { buildFailure, TestPipeline } from '#test/support/pipeline-item';

const NETWORKS = `{all6: ['::/0'], ten: ['10.0.0.0/8'], sub: ['10.1.0.0/16', '10.2.3.77/32'], doc: '2001:db8::/33', one: '2001:db8::7', mapped: '::ffff:172.16.0.0/108'}`;

describe('cidr', () => {
  const pipeline = new TestPipeline(`- cidr: {field: ip, networks: ${NETWORKS}}`);
  const cases: readonly (readonly [ip: string, label: string | undefined])[] = [
    ['10.0.0.0', 'ten'],
    ['10.255.255.255', 'ten'],
    ['10.1.255.0', 'sub'],
    ['10.2.3.77', 'sub'],
    ['10.2.3.76', 'ten'],
    ['11.0.0.0', undefined],
    ['9.255.255.255', undefined],
    ['2001:db8:7fff::1', 'doc'],
    ['2001:db8:8000::1', 'all6'],
    ['2001:db8::7', 'one'],
    ['2001:0DB8:0:0:0:0:0:7', 'one'],
    ['fe80::1%eth0', 'all6'],
    ['::ffff:10.1.0.1', 'sub'],
    ['172.31.0.1', 'mapped'],
    ['172.32.0.1', undefined],
    ['::', 'all6'],
  ];
  for (const [ip, label] of cases) {
    it(`labels ${ip} ${label ?? 'not at all'}`, () => {
      const expected = { ip, ...(label === undefined ? {} : { network: label }) };
      expect(JSON.parse(pipeline.run(JSON.stringify({ ip })))).to.deep.equal(expected);
    });
  }

  it('agrees with a comparison of numbers for random addresses and networks', () => {
    let state = 7;
    const next = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0);
    const text = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
    const networks = Array.from({ length: 200 }, () => ({ address: next(), length: next() % 13 }));
    const map = networks.map(({ address, length }, i) => `n${i}: '${text(address)}/${length}'`).join(', ');
    const random = new TestPipeline(`- cidr: {field: ip, networks: {${map}}}`);
    for (let i = 0; i < 2_000; i++) {
      const ip = next();
      const has = networks.filter(
        ({ address, length }) => length === 0 || ip >>> (32 - length) === address >>> (32 - length),
      );
      const longest = Math.max(...has.map(({ length }) => length));
      const label = networks.findLastIndex((it) => it.length === longest && has.includes(it));
      const { network } = JSON.parse(random.run(`{"ip":"${text(ip)}"}`)) as { network?: string };
      expect(network, text(ip)).to.equal(label < 0 ? undefined : `n${label}`);
    }
  });

  it('fails for what is no address', () => {
    for (const ip of ['', 'x', '10.0.0', '10.0.0.256', ':::', '1'.repeat(100_000)]) {
      expect(pipeline.failure(JSON.stringify({ ip }))).to.contain('Processor cidr: "ip" is no IP address: ');
    }
    expect(pipeline.failure('{"ip":7}')).to.contain('expect string value');
  });

  const refused: readonly (readonly [options: string, message: string])[] = [
    ['field: ip', 'missing field: networks'],
    ['field: ip, networks: [a]', 'must be a map from labels to networks'],
    ['field: ip, networks: {a: [7]}', 'must be a map from labels to networks'],
    ...['10.0.0.0/33', '10.0.0/8', '::/129', '10.0.0.0/8/8', 'x', '1.2.3.4/-1', '::ffff:1.2.3.4/95'].map((network) => {
      return [`field: ip, networks: {a: ['${network}']}`, `"${network}" is no network`] as const;
    }),
    [`field: ip, networks: {a: [${"'::1',".repeat(5_001)}]}`, 'more than 5000 networks'],
  ];
  for (const [options, message] of refused) {
    it(`refuses ${options.slice(0, 60)}`, () => expect(buildFailure(`- cidr: {${options}}`)).to.contain(message));
  }
});

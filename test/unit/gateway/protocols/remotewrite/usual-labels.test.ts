import { expect } from 'chai';

import { labelRules } from '#services/gateway/protocols/common/metric-labels';
import { parseSeries } from '#services/gateway/protocols/remotewrite/labels';
import { UsualLabels } from '#services/gateway/protocols/remotewrite/usual-labels';
import { WireReader } from '#shared/protobuf/wire-reader';
import { metricNames } from '#shared/schema/metric-table';

const names = metricNames({ naming: 'almanac', defaultColumnPrefix: '' });
const rules = labelRules({ isLossy: false, isLegacy: false }, names);

type Bytes = string | Buffer;

function field(tag: number, bytes: Buffer): Buffer {
  const length = bytes.length < 0x80 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >>> 7];
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
}

function label(name: Bytes, value: Bytes): Buffer {
  return field(0x0a, Buffer.concat([field(0x0a, Buffer.from(name)), field(0x12, Buffer.from(value))]));
}

function labels(...pairs: readonly (readonly [Bytes, Bytes])[]): Buffer {
  return Buffer.concat(pairs.map(([name, value]) => label(name, value)));
}

function parse(bytes: Buffer, usual = new UsualLabels(rules)): ReturnType<UsualLabels['parse']> {
  return usual.parse(new WireReader(bytes), 0, bytes.length);
}

/** Checks that labels are read, and come out as they do the long way. */
function reads(...pairs: readonly (readonly [Bytes, Bytes])[]): void {
  const bytes = labels(...pairs);
  const long = parseSeries(new WireReader(bytes), 0, bytes.length, rules);
  expect(parse(bytes)).to.deep.equal(long);
  expect(long).to.be.an('object');
}

describe('UsualLabels', () => {
  it('reads labels as usual senders write them', () => {
    reads(['__name__', 'up']);
    reads(['__name__', 'up'], ['instance', 'a:9100'], ['job', 'node']);
    reads(['Zone', 'x'], ['__name__', 'up'], ['job', 'käse'], ['zone', '']);
    reads(['__name__', 'up'], ['long', 'v'.repeat(300)]);
  });

  it('leaves everything else to the general decoder', () => {
    const leaves = (bytes: Buffer): Chai.Assertion =>
      expect(parse(bytes), bytes.toString('latin1')).to.equal(undefined);
    leaves(labels());
    leaves(labels(['job', 'a']));
    leaves(labels(['__name__', '']));
    leaves(labels(['__name__', 'a\nb']));
    leaves(labels(['__name__', 'up'], ['job', 'a'], ['instance', 'b']));
    leaves(labels(['__name__', 'up'], ['job', 'a'], ['job', 'b']));
    leaves(labels(['__name__', 'up'], ['', 'a']));
    leaves(labels(['__name__', 'up'], ['jöb', 'a']));
    leaves(labels(['__name__', 'up'], ['job', Buffer.from([0xff])]));
    leaves(labels(['__name__', 'up'], ['__physical_table__', 't']));
    leaves(labels(['__name__', 'up'], [names.valueColumn, 't']));
    leaves(labels(['__name__', 'up'], ['n'.repeat(200), 't']));
    leaves(field(0x0a, field(0x12, Buffer.from('up'))));
    leaves(field(0x0a, Buffer.alloc(0)));
    leaves(field(0x0a, Buffer.concat([field(0x12, Buffer.from('up')), field(0x0a, Buffer.from('__name__'))])));
    leaves(field(0x0a, Buffer.concat([label('a', 'b'), label('c', 'd')])));
  });

  it('reads any bytes as the general decoder does, or leaves them', () => {
    const whole = labels(['__name__', 'up'], ['instance', 'a'], ['job', 'b']);
    const outcome = (run: () => unknown): unknown => {
      try {
        return run();
      } catch (error) {
        return String(error);
      }
    };
    for (let at = 0; at < whole.length; at++) {
      for (const byte of [0, 1, 2, 8, 0x0a, 0x12, 0x41, 0x61, 0x7f, 0x80, 0xff]) {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        // The caller has looked for fields with this tag, which are whole.
        if (!isFields(bytes)) continue;
        const short = outcome(() => parse(bytes));
        const long = outcome(() => parseSeries(new WireReader(bytes), 0, bytes.length, rules));
        if (short !== undefined) expect(short, `${byte} at ${at}`).to.deep.equal(long);
      }
    }
  });

  it('remembers a bounded number of names', () => {
    const usual = new UsualLabels(rules);
    for (let i = 0; i < 25_000; i++) {
      const found = parse(labels(['__name__', 'up'], [`l${i}`, 'v']), usual);
      expect(found?.tags.map(({ name }) => name)).to.deep.equal(['__name__', `l${i}`]);
    }
  });
});

function isFields(bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== 0x0a || bytes[at + 1] >= 0x80) return false;
    at += 2 + bytes[at + 1];
  }
  return at === bytes.length;
}

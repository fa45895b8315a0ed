import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { FIELD_COUNT, generate, LineEncoder, rowCount, type TsbsData } from '#test/bench/tsbs/generator';

describe('TSBS generator', () => {
  it('generates the same bytes for the same seed, on any machine', () => {
    const lines = linesOf(generate({ hosts: 20, steps: 50, seed: 1 }));
    expect(createHash('sha256').update(lines).digest('hex')).to.equal(
      '9694c92dff7296e8093e432834f9513fe045e2fe9c23c3ca8619ac38ea4ed340',
    );
  });

  it('generates other values for another seed', () => {
    const one = generate({ hosts: 2, steps: 2, seed: 1 });
    const two = generate({ hosts: 2, steps: 2, seed: 2 });
    expect(one.values).not.to.deep.equal(two.values);
  });

  it('keeps values in 0..100 and walks by small steps', () => {
    const { values, shape } = generate({ hosts: 10, steps: 500, seed: 3 });
    expect(values.every((value) => value <= 100)).to.equal(true);
    expect(new Set(values).size).to.be.greaterThan(95);
    const perStep = shape.hosts * FIELD_COUNT;
    const steps = values.subarray(perStep).map((value, i) => Math.abs(value - values[i]));
    expect(Math.max(...steps)).to.be.lessThan(7);
    const mean = steps.reduce((sum, step) => sum + step, 0) / steps.length;
    expect(mean).to.be.within(0.6, 1);
  });

  it('writes all hosts of a time before the next time', () => {
    const lines = linesOf(generate({ hosts: 2, steps: 2, seed: 1 }))
      .trimEnd()
      .split('\n');
    const order = lines.map((line) => [/hostname=(\w+)/.exec(line)?.[1], line.split(' ')[2]]);
    expect(order).to.deep.equal([
      ['host_0', '1451606400000000000'],
      ['host_1', '1451606400000000000'],
      ['host_0', '1451606410000000000'],
      ['host_1', '1451606410000000000'],
    ]);
  });

  it('writes ten tags and ten integer fields per line', () => {
    const [line] = linesOf(generate({ hosts: 1, steps: 1, seed: 1 })).split('\n');
    expect(line).to.match(
      new RegExp(
        '^cpu,hostname=host_0,region=[\\w-]+,datacenter=[\\w-]+,rack=\\d{1,2},os=Ubuntu[\\w.]+,arch=x(64|86),team=[A-Z]+,' +
          'service=\\d{1,2},service_version=[01],service_environment=[a-z]+ ' +
          'usage_user=\\d+i,usage_system=\\d+i,usage_idle=\\d+i,usage_nice=\\d+i,usage_iowait=\\d+i,usage_irq=\\d+i,' +
          'usage_softirq=\\d+i,usage_steal=\\d+i,usage_guest=\\d+i,usage_guest_nice=\\d+i 1451606400000000000$',
      ),
    );
  });

  it('writes the values that it reports, including 0 and 100', () => {
    const data: TsbsData = {
      ...generate({ hosts: 1, steps: 1, seed: 1 }),
      values: Uint8Array.of(0, 9, 10, 19, 20, 55, 90, 99, 100, 1),
    };
    const numbers = [...linesOf(data).matchAll(/=(\d+)i/g)].map((match) => match[1]);
    expect(numbers).to.deep.equal(['0', '9', '10', '19', '20', '55', '90', '99', '100', '1']);
  });

  it('reports the end of each line', () => {
    const data = generate({ hosts: 3, steps: 4, seed: 1 });
    const encoder = new LineEncoder(data);
    const out = new Uint8Array(encoder.bytesMax(5));
    const ends = new Float64Array(5);
    const bytes = encoder.encode(4, 9, out, ends);
    const all = linesOf(data).split('\n');
    const cut = Array.from(ends, (end, i) => Buffer.from(out.subarray(i === 0 ? 0 : ends[i - 1], end)).toString());
    expect(cut).to.deep.equal(all.slice(4, 9).map((line) => `${line}\n`));
    expect(bytes).to.equal(ends[4]);
  });
});

function linesOf(data: TsbsData): string {
  const encoder = new LineEncoder(data);
  const rows = rowCount(data.shape);
  const out = new Uint8Array(encoder.bytesMax(rows));
  return Buffer.from(out.subarray(0, encoder.encode(0, rows, out, new Float64Array(rows)))).toString();
}

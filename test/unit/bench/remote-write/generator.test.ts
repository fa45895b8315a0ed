import { expect } from 'chai';

import { NodeExporters } from '#test/bench/remote-write/generator';
import { RemoteWriteRig } from '#test/support/remote-write-rig';

describe('samples of node exporters', () => {
  it('are equal for equal seeds, and have the size of those of a data centre', () => {
    const exporters = new NodeExporters({ targets: 20, seed: 1 });
    expect(exporters.seriesCount).to.be.within(18_500, 19_500);
    const bytes = (seed: number): Buffer => {
      const bodies = [...new NodeExporters({ targets: 2, seed }).bodies(2, 500)];
      return Buffer.concat(bodies.map((body) => body.bytes));
    };
    expect(bytes(1).equals(bytes(1))).to.equal(true);
    expect(bytes(1).equals(bytes(2))).to.equal(false);
  });

  it('are bodies that a server accepts, each series once per scrape', () => {
    const exporters = new NodeExporters({ targets: 2, seed: 1 });
    const rig = new RemoteWriteRig();
    const bodies = [...exporters.bodies(3, 500)];
    const rows = bodies.flatMap(({ bytes, samples }) => {
      const decoded = rig.decode(1, bytes);
      expect([decoded.rows.length, decoded.rejectedCount]).to.deep.equal([samples, 0]);
      return decoded.rows;
    });
    expect(rows).to.have.length(3 * exporters.seriesCount);
    const names = new Set(rows.map(({ labels }) => labels['__name__']));
    expect(names.size).to.be.within(470, 500);
    const series = new Set(rows.map(({ labels }) => JSON.stringify(labels)));
    expect(series.size).to.equal(exporters.seriesCount);
  });
});

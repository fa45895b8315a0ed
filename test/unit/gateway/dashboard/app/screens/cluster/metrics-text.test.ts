import { expect } from 'chai';

import { rateOf, sampleOf } from '#services/gateway/dashboard/app/screens/cluster/metrics-text';
import { sparkPath } from '#services/gateway/dashboard/app/screens/cluster/spark-line';
import { warningsOf } from '#services/gateway/dashboard/app/screens/cluster/warnings';
import { nodeName, nodeParameter, type ServerNode } from '#services/gateway/dashboard/app/data/server-node';

const METRICS = `# HELP almanac_process_cpu_seconds_total Total CPU time
# TYPE almanac_process_cpu_seconds_total counter
almanac_process_cpu_seconds_total 12.5
almanac_process_resident_memory_bytes{job="a b} c"} 1.5e+8
almanac_ingester_written_rows_total{kind="a"} 3
almanac_ingester_written_rows_total{kind="b"} 4 1700000000000
almanac_ingester_wal_bytes 0
almanac_ingester_wal_bytes_other 7
`;

const node = (facts: Partial<ServerNode>): ServerNode => {
  return { role: 'ingester', node_id: 2, addr: 'a:1', version: '1', state: 'ready', reachable: true, ...facts };
};

describe('the cluster page', () => {
  it('reads the metrics of a process, whatever their prefix', () => {
    const expected = {
      cpuSeconds: 12.5,
      memoryBytes: 150_000_000,
      memtableBytes: undefined,
      walBytes: 0,
      writtenRows: 7,
    };
    expect(sampleOf(METRICS)).to.deep.equal(expected);
    expect(sampleOf(METRICS.replaceAll('almanac_', 'my_db_'))).to.deep.equal(expected);
  });

  it('computes rates of counters, except across a restart', () => {
    const sample = (atMs: number, cpu: number | undefined) => ({
      atMs,
      sample: { ...sampleOf(''), cpuSeconds: cpu },
    });
    expect(rateOf('cpuSeconds', sample(0, 10), sample(5000, 12.5))).to.equal(0.5);
    expect(rateOf('cpuSeconds', sample(0, 10), sample(5000, 1))).to.equal(undefined);
    expect(rateOf('cpuSeconds', sample(0, undefined), sample(5000, 1))).to.equal(undefined);
    expect(rateOf('cpuSeconds', sample(0, 1), sample(0, 1))).to.equal(undefined);
  });

  it('draws lines through values, the largest at the top', () => {
    const points = [
      { atMs: 100, value: 0 },
      { atMs: 150, value: 10 },
      { atMs: 200, value: 5 },
    ];
    expect(sparkPath(points, 72, 18)).to.equal('M0.0 17.0L36.0 1.0L72.0 9.0');
    expect(sparkPath(points.slice(0, 1), 72, 18)).to.equal('');
    expect(sparkPath([points[0], points[0]], 72, 18)).to.equal('M0.0 17.0L0.0 17.0');
  });

  it('warns of nodes that are away or not ready, and of full disks', () => {
    const disk = { disk_free_bytes: 5, disk_total_bytes: 100, log_disk_free_bytes: 50, log_disk_total_bytes: 100 };
    expect(warningsOf(node({}))).to.deep.equal([]);
    expect(warningsOf(node({ state: 'gone', reachable: false }))).to.deep.equal(['ingester 2 is gone']);
    expect(warningsOf(node({ reachable: false }))).to.deep.equal(['ingester 2 does not reply']);
    expect(warningsOf(node({ state: 'left', reachable: false }))).to.deep.equal([]);
    expect(warningsOf(node({ state: 'draining', storage: disk }))).to.deep.equal([
      'ingester 2 is draining',
      'ingester 2: the disk of the segments has 5 B of 100 B left',
    ]);
  });

  it('names nodes for people and for the API', () => {
    const names = [{ role: 'standalone', node_id: 0 }, { role: 'metadata', node_id: 0 }, {}].map((facts) => [
      nodeName(node(facts)),
      nodeParameter(node(facts)),
    ]);
    expect(names).to.deep.equal([
      ['standalone', undefined],
      ['metadata', 'metadata'],
      ['ingester 2', '2'],
    ]);
  });
});

import '../../style/data.css';
import './cluster.css';

import { nodeName, type ServerNode } from '../../data/server-node.js';
import { bytesText, countText, secondsText } from '../../format/numbers.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { rateOf, type TimedSample } from './metrics-text.js';
import { useSampledNodes, type SampledNode } from './node-samples.js';
import { Regions } from './regions.js';
import { sparkPath } from './spark-line.js';
import { warningsOf } from './warnings.js';

/** The processes of the server, and the regions that they own. */
export function ClusterScreen() {
  const { value: nodes, error, reload } = useSampledNodes();
  const warnings = nodes?.flatMap(({ node }) => warningsOf(node)) ?? [];
  return (
    <div class="screen cluster">
      <h1 class="visually-hidden">Cluster</h1>
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {nodes === undefined ? (
        error === undefined && <p class="loading">Loading…</p>
      ) : (
        <section class="stack" aria-labelledby="nodes-title">
          <div class="row">
            <h2 id="nodes-title">Nodes</h2>
            <span role="status" class="dim">
              {nodes.length === 1 ? '1 process' : `${countText(nodes.length)} processes`}
              {warnings.length === 0
                ? ', no warnings'
                : `, ${warnings.length === 1 ? '1 warning' : `${countText(warnings.length)} warnings`}`}
            </span>
          </div>
          {warnings.length > 0 && (
            <ul class="notice warnings" aria-label="Warnings">
              {warnings.map((warning) => (
                <li key={warning}>{warning}</li>
              ))}
            </ul>
          )}
          <NodeTable nodes={nodes} />
        </section>
      )}
      <Regions nodes={nodes?.map(({ node }) => node) ?? []} />
    </div>
  );
}

function NodeTable({ nodes }: { readonly nodes: readonly SampledNode[] }) {
  return (
    <div class="scroll-x" role="group" aria-label="Nodes" tabIndex={0}>
      <table class="plain wide" aria-label="Nodes">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col">Version</th>
            <th scope="col" class="number">
              Uptime
            </th>
            <th scope="col" class="number">
              CPU
            </th>
            <th scope="col" class="number">
              Memory
            </th>
            <th scope="col" class="number">
              Unflushed
            </th>
            <th scope="col" class="number">
              Log
            </th>
            <th scope="col" class="number">
              Rows/s
            </th>
            <th scope="col" class="number">
              Segments
            </th>
            <th scope="col" class="number">
              Disk free
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((sampled) => (
            <NodeRow key={nodeName(sampled.node)} sampled={sampled} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NodeRow({ sampled: { node, samples } }: { readonly sampled: SampledNode }) {
  const { addr, version, uptime_seconds: uptime, start_time: start, storage = {} } = node;
  const [before, last] = samples.slice(-2);
  const isIngester = node.role === 'ingester' || node.role === 'standalone';
  const hasTwo = before !== undefined && last !== undefined;
  const cpu = hasTwo ? rateOf('cpuSeconds', before, last) : undefined;
  const written = hasTwo ? rateOf('writtenRows', before, last) : undefined;
  const newest = (samples.at(-1) ?? NO_SAMPLE).sample;
  return (
    <tr>
      <th scope="row">
        {nodeName(node)}
        <span class="node-address">{addr}</span>
      </th>
      <td>
        <StateMark node={node} />
      </td>
      <td>{version}</td>
      <td class="number" title={start}>
        <Uptime seconds={uptime} />
      </td>
      <td class="number">
        <Sparked label="CPU" points={ratesOf(samples)} />
        {cpu === undefined ? <Unknown reason="Known after two samples, 5 s apart" /> : `${Math.round(cpu * 100)} %`}
      </td>
      <td class="number">
        <Sparked label="Memory" points={pointsOf(samples, 'memoryBytes')} />
        <Bytes value={newest.memoryBytes} />
      </td>
      <td class="number">
        {isIngester && <Sparked label="Unflushed rows" points={pointsOf(samples, 'memtableBytes')} />}
        <Bytes value={isIngester ? newest.memtableBytes : undefined} isOther={!isIngester} />
      </td>
      <td class="number">
        {isIngester && <Sparked label="Write-ahead log" points={pointsOf(samples, 'walBytes')} />}
        <Bytes value={isIngester ? newest.walBytes : undefined} isOther={!isIngester} />
      </td>
      <td class="number">{isIngester ? <RowRate perSecond={written} /> : <NotApplicable />}</td>
      <td class="number">{storage['segments'] === undefined ? <NotApplicable /> : countText(storage['segments'])}</td>
      <td class="number">
        <Bytes value={storage['disk_free_bytes']} isOther={!isIngester} />
      </td>
    </tr>
  );
}

const NO_SAMPLE: TimedSample = {
  atMs: 0,
  sample: {
    cpuSeconds: undefined,
    memoryBytes: undefined,
    memtableBytes: undefined,
    walBytes: undefined,
    writtenRows: undefined,
  },
};

function StateMark({ node: { state, reachable, waiting = [], progress } }: { readonly node: ServerNode }) {
  if (!reachable) return <span class="bad">✕ {state === 'ready' ? 'no reply' : state}</span>;
  if (state === 'ready') return <span class="good">● ready</span>;
  const share = progress === undefined ? '' : ` ${Math.floor(progress * 100)} %`;
  const detail = waiting.length === 0 ? '' : `: ${waiting.join(', ')}`;
  return (
    <span class={state === 'gone' || state === 'left' ? 'bad' : 'warn'}>
      ▲ {state}
      {detail}
      {share}
    </span>
  );
}

interface Point {
  readonly atMs: number;
  readonly value: number;
}

const [WIDTH_PX, HEIGHT_PX] = [48, 18];

/** The last hour of a figure, as far as the page was open. */
function Sparked({ label, points }: { readonly label: string; readonly points: readonly Point[] }) {
  const path = sparkPath(points, WIDTH_PX, HEIGHT_PX);
  if (path === '') return null;
  const minutes = Math.round((points[points.length - 1].atMs - points[0].atMs) / 60_000);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH_PX} ${HEIGHT_PX}`}
      role="img"
      aria-label={`${label} in the last ${minutes < 1 ? 'minute' : `${minutes} minutes`}`}
    >
      <path d={path} />
    </svg>
  );
}

function pointsOf(samples: readonly TimedSample[], name: 'memoryBytes' | 'memtableBytes' | 'walBytes'): Point[] {
  return samples.flatMap(({ atMs, sample }) => {
    const value = sample[name];
    return value === undefined ? [] : [{ atMs, value }];
  });
}

function ratesOf(samples: readonly TimedSample[]): Point[] {
  return samples.slice(1).flatMap((after, i) => {
    const value = rateOf('cpuSeconds', samples[i], after);
    return value === undefined ? [] : [{ atMs: after.atMs, value }];
  });
}

function Bytes({ value, isOther = false }: { readonly value: number | undefined; readonly isOther?: boolean }) {
  if (value !== undefined) return <>{bytesText(value, 3)}</>;
  return isOther ? <NotApplicable /> : <Unknown reason="The process did not report it" />;
}

function Uptime({ seconds }: { readonly seconds: number | undefined }) {
  return seconds === undefined ? <Unknown reason="The process did not reply" /> : <>{secondsText(seconds, 3)}</>;
}

function RowRate({ perSecond }: { readonly perSecond: number | undefined }) {
  if (perSecond === undefined) return <Unknown reason="Known after two samples, 5 s apart" />;
  return <>{countText(Math.round(perSecond))}</>;
}

function Unknown({ reason }: { readonly reason: string }) {
  return (
    <span class="dim" title={reason}>
      n/a
    </span>
  );
}

/** Stands where processes of a role have no such figure. */
function NotApplicable() {
  return <span class="dim">–</span>;
}

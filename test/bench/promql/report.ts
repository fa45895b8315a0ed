import { ms, print, printTable, ratio } from '../report.js';
import type { PanelFigures, PromqlFigures } from './measure.js';

/** Answers agree if they have as many series and sums this near, relative to each other. */
const NEAR = 0.02;

/** Panels down, servers across: the first time and the median of repeats, and the ratios to the first server's. */
export function printPanels(title: string, all: readonly PromqlFigures[]): void {
  if (all.length === 0) return;
  const [first, ...peers] = all;
  const head = [
    'panel',
    ...all.map(({ server }) => `${server} cold / p50 ms`),
    ...peers.map(({ server }) => `${first.server}/${server}`),
  ];
  const rows = first.panels.map((own) => {
    const others = peers.map(({ panels }) => same(panels, own));
    return [
      `${own.panel} ${own.range}`,
      ...[own, ...others].map((it) => (it === undefined ? '-' : `${ms(it.coldMs)} / ${ms(it.p50Ms)}`)),
      ...others.map((it) =>
        it === undefined ? '-' : `${ratio(own.coldMs, it.coldMs)} / ${ratio(own.p50Ms, it.p50Ms)}`,
      ),
    ];
  });
  printTable(title, [head, ...rows]);
  const laterHead = ['panel', ...all.map(({ server }) => `${server} p50 ms`)];
  const laterRows = first.later.map(({ panel, p50Ms }, i) => {
    const others = peers.map(({ later }) => later[i].p50Ms);
    return [panel, ms(p50Ms), ...others.map((other) => `${ms(other)} (${ratio(p50Ms, other)})`)];
  });
  printTable('promql, instant panels, 500 queries each after all others', [laterHead, ...laterRows]);
  for (const { server, panelsPerSecond, cpuSecondsPerPanel } of all) {
    print(
      `${server}: ${panelsPerSecond.toFixed(0)} panels/s of 1 h for 8 clients, ${ms(cpuSecondsPerPanel * 1000)} CPU ms each`,
    );
  }
  for (const peer of peers) {
    for (const own of first.panels) {
      const other = same(peer.panels, own);
      if (other !== undefined && !agrees(own, other)) {
        print(
          `DIFFERS ${peer.server} ${own.panel} ${own.range}: ${own.series} ${own.sum}, ${other.series} ${other.sum}`,
        );
      }
    }
  }
}

function same(panels: readonly PanelFigures[], { panel, range }: PanelFigures): PanelFigures | undefined {
  return panels.find((it) => it.panel === panel && it.range === range);
}

function agrees(a: PanelFigures, b: PanelFigures): boolean {
  const areNear = Math.abs(a.sum - b.sum) <= NEAR * Math.max(Math.abs(a.sum), Math.abs(b.sum));
  // A ratio of zeros makes both sums no number.
  return a.series === b.series && (areNear || Object.is(a.sum, b.sum));
}

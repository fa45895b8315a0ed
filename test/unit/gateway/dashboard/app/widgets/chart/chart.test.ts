import { expect } from 'chai';

import { alignSeries } from '#services/gateway/dashboard/app/widgets/chart/align';
import {
  cellAt,
  drawnBounds,
  heatmapCells,
  isLogarithmic,
} from '#services/gateway/dashboard/app/widgets/chart/heatmap-cells';
import { legendRows, nextSort } from '#services/gateway/dashboard/app/widgets/chart/legend-rows';
import { readoutAt } from '#services/gateway/dashboard/app/widgets/chart/readout';
import { hiddenKeys, selectionText } from '#services/gateway/dashboard/app/widgets/chart/selection';
import { chartSentence } from '#services/gateway/dashboard/app/widgets/chart/sentence';
import {
  differingLabels,
  largestSeries,
  nearestSample,
  statisticsOf,
  type ChartSeries,
} from '#services/gateway/dashboard/app/widgets/chart/series';
import {
  SERIES_COLOURS_DARK,
  SERIES_COLOURS_LIGHT,
  seriesStyle,
} from '#services/gateway/dashboard/app/widgets/chart/series-style';
import { stackSeries } from '#services/gateway/dashboard/app/widgets/chart/stack';
import { timeTicks } from '#services/gateway/dashboard/app/widgets/chart/time-ticks';
import { tickTexts } from '#services/gateway/dashboard/app/widgets/chart/value-ticks';
import { longCsv, wideCsv } from '#services/gateway/dashboard/app/widgets/chart/series-csv';

function series(times: readonly number[], values: readonly number[], label = 'a'): ChartSeries {
  return {
    ...{ key: label, label, labels: { host: label } },
    times: Float64Array.from(times),
    values: Float64Array.from(values),
  };
}

describe('series of a chart', () => {
  it('have a gap where a step is missing, on the times of all series', () => {
    const { times, values } = alignSeries([series([0, 10, 30], [1, 2, 4]), series([10, 20], [5, 6])], 10, false);
    expect([...times]).to.deep.equal([0, 10, 20, 30]);
    expect(values.map((one) => [...one])).to.deep.equal([
      [1, 2, null, 4],
      [null, 5, 6, null],
    ]);
  });

  it('have a gap also where all series miss the step, at times that are on no grid', () => {
    const { times, values } = alignSeries([series([0, 11, 47], [1, 2, 3])], 10, false);
    expect([...times]).to.deep.equal([0, 11, 21, 47]);
    expect([...values[0]]).to.deep.equal([1, 2, null, 3]);
  });

  it('connect their own samples when there is no step', () => {
    const { times, values } = alignSeries([series([0, 50], [1, 2]), series([20], [3])], undefined, false);
    expect([...times]).to.deep.equal([0, 20, 50]);
    expect([...values[0]]).to.deep.equal([1, undefined, 2]);
  });

  it('share arrays without copies when nothing is missing', () => {
    const all = [series([0, 10], [1, 2]), series([0, 10], [3, 4])];
    const { values } = alignSeries(all, 10, false);
    expect(values[1]).to.equal(all[1].values);
  });

  it('have gaps for values that are no numbers, infinite, or not positive on a logarithmic axis', () => {
    const one = series([0, 10, 20, 30], [NaN, Infinity, 0, 5]);
    expect([...alignSeries([one], 10, false).values[0]]).to.deep.equal([null, null, 0, 5]);
    expect([...alignSeries([one], 10, true).values[0]]).to.deep.equal([null, null, null, 5]);
  });

  it('show points without neighbours, which no line shows', () => {
    const { lone } = alignSeries([series([0, 20, 30, 50], [1, 2, 3, 4])], 10, false);
    expect(lone).to.deep.equal([[0, 5]]);
    expect(alignSeries([series([7], [1])], 10, false).lone).to.deep.equal([[0]]);
  });

  it('are stacked from the last one, negative values downward', () => {
    const stacked = stackSeries([
      [1, -1, null],
      [2, -2, 3],
      [4, 5, 6],
    ]);
    expect(stacked).to.deep.equal([
      [7, -3, null],
      [6, -2, 9],
      [4, 5, 6],
    ]);
  });

  it('have statistics of the values that are numbers', () => {
    expect(statisticsOf(Float64Array.from([3, NaN, 1, NaN]))).to.deep.equal({
      last: 1,
      min: 1,
      max: 3,
      avg: 2,
      count: 2,
    });
    expect(statisticsOf(Float64Array.from([NaN]))).to.deep.equal({ last: NaN, min: NaN, max: NaN, avg: NaN, count: 0 });
  });

  it('are chosen by the largest maxima, in their own order', () => {
    const all = [[5], [NaN], [9], [Infinity], [1]].map((values) => statisticsOf(Float64Array.from(values)));
    expect(largestSeries(all, 3)).to.deep.equal([0, 2, 3]);
    expect(largestSeries(all, 9)).to.deep.equal([0, 1, 2, 3, 4]);
  });

  it('differ by labels that are not the same in all', () => {
    const labels = [
      { job: 'a', host: 'x' },
      { job: 'a', host: 'y' },
      { job: 'a', host: 'x', zone: 'b' },
    ];
    expect([...differingLabels(labels.map((one) => ({ labels: one })))].sort()).to.deep.equal(['host', 'zone']);
    expect([...differingLabels([])]).to.deep.equal([]);
  });

  it('have the sample that is nearest to a time, within a tolerance', () => {
    const times = Float64Array.from([10, 20, 40]);
    expect([0, 14, 16, 31, 99].map((ms) => nearestSample(times, ms, 10))).to.deep.equal([0, 0, 1, 2, -1]);
    expect(nearestSample(new Float64Array(0), 5, 10)).to.equal(-1);
  });

  it('are read at a time, the nearest to the pointer first, with exact values', () => {
    const all = [series([0, 10], [1, 0.1 + 0.2], 'a'), series([0, 10], [7, 8], 'b'), series([90], [1], 'c')];
    const styles = all.map((_, i) => seriesStyle(i, false));
    const { readings } = readoutAt({ series: all, styles }, 10, 5, (value) => Math.abs(value - 7));
    expect(readings.map(({ series: { key }, value }) => [key, value])).to.deep.equal([
      ['b', 8],
      ['a', 0.30000000000000004],
    ]);
  });
});

describe('the selection of a chart', () => {
  const keys = ['a', 'b', 'c', 'd', 'e'];

  it('survives as text, and applies to the same series loaded again in another order', () => {
    for (const hidden of [['b'], ['a', 'b', 'c', 'd'], ['c', 'e']]) {
      const text = selectionText(new Set(hidden), keys);
      expect([...hiddenKeys(text, keys.toReversed())].sort()).to.deep.equal(hidden);
    }
  });

  it('is short for one of many series', () => {
    const many = Array.from({ length: 2000 }, (_, i) => `series ${i}`);
    const text = selectionText(new Set(many.slice(1)), many);
    expect(text.length).to.be.at.most(20);
    expect(hiddenKeys(text, many).size).to.equal(1999);
  });

  it('hides nothing when it would hide everything', () => {
    expect(selectionText(new Set(keys), keys)).to.equal('');
    expect(hiddenKeys('only.zzz', keys).size).to.equal(0);
    expect(hiddenKeys('', keys).size).to.equal(0);
  });
});

describe('ticks of values', () => {
  it('have at most four digits where these distinguish neighbours', () => {
    expect(tickTexts([0, 500, 1000, 1500], 'short')).to.deep.equal(['0', '500', '1k', '1.5k']);
    expect(tickTexts([0.1, 0.2, 0.30000000000000004], 'none')).to.deep.equal(['0.1', '0.2', '0.3']);
  });

  it('have more digits where neighbours would be equal', () => {
    expect(tickTexts([100_000, 100_001, 100_002], 'short')).to.deep.equal(['100k', '100.001k', '100.002k']);
    expect(tickTexts([3600, 3600.5, 3601], 'seconds')).to.deep.equal(['3600 s', '3600.5 s', '3601 s']);
  });

  it('keep the ticks that have no text', () => {
    expect(tickTexts([1, null, 10], 'bytes')).to.deep.equal(['1 B', null, '10 B']);
  });
});

describe('ticks of time', () => {
  const at = Date.parse;

  it('are round on the clocks of the zone, on 24 hours, with the day where it changes', () => {
    const { times, texts } = timeTicks(at('2026-11-21T14:10:00Z'), at('2026-11-22T04:00:00Z'), 'Asia/Kolkata', 5);
    expect(texts).to.deep.equal(['21:00\n2026-11-21', '00:00\n2026-11-22', '03:00', '06:00', '09:00']);
    expect(new Date(times[1]).toISOString()).to.equal('2026-11-21T18:30:00.000Z');
  });

  it('distinguish the hour that clocks repeat', () => {
    const { texts } = timeTicks(at('2026-10-25T00:00:00Z'), at('2026-10-25T02:00:00Z'), 'Europe/Berlin', 4);
    expect(texts).to.deep.equal(['02:00\n2026-10-25', '02:30', '02:00', '02:30', '03:00']);
  });

  it('begin days at midnight, also when clocks change', () => {
    const { times, texts } = timeTicks(at('2026-03-27T12:00:00Z'), at('2026-03-31T12:00:00Z'), 'Europe/Berlin', 5);
    expect(texts).to.deep.equal(['03-28\n2026', '03-29', '03-30', '03-31']);
    expect(times.map((ms) => new Date(ms).getUTCHours())).to.deep.equal([23, 23, 22, 22]);
  });

  it('show milliseconds, months and years', () => {
    const second = at('2026-11-21T17:00:00Z');
    expect(timeTicks(second, second + 20, 'UTC', 2).texts).to.deep.equal([
      '17:00:00.000\n2026-11-21',
      '17:00:00.010',
      '17:00:00.020',
    ]);
    expect(timeTicks(at('2026-01-05Z'), at('2026-08-05Z'), 'UTC', 4).texts).to.deep.equal([
      '2026-03',
      '2026-05',
      '2026-07',
    ]);
    expect(timeTicks(at('2000-06-01Z'), at('2020-01-01Z'), 'UTC', 4).texts).to.deep.equal(['2010', '2020']);
  });

  it('are none for a range that has no time', () => {
    expect(timeTicks(NaN, 5, 'UTC', 5).times).to.deep.equal([]);
    expect(timeTicks(5, 5, 'UTC', 5).times).to.deep.equal([]);
    expect(timeTicks(-9e15, 9e15, 'UTC', 5).times).to.deep.equal([]);
  });
});

describe('the legend', () => {
  const all = [series([0], [5], 'web-1'), series([0], [9], 'web-2'), series([0], [NaN], 'db-1')];
  const statistics = all.map(({ values }) => statisticsOf(values));

  it('is searched by words in any order', () => {
    expect(legendRows(all, statistics, '2 WEB', undefined)).to.deep.equal([1]);
    expect(legendRows(all, statistics, 'host=web', undefined)).to.deep.equal([0, 1]);
    expect(legendRows(all, statistics, '', undefined)).to.deep.equal([0, 1, 2]);
  });

  it('is sorted by a column, series without values last', () => {
    expect(legendRows(all, statistics, '', { by: 'max', isDescending: true })).to.deep.equal([1, 0, 2]);
    expect(legendRows(all, statistics, '', { by: 'max', isDescending: false })).to.deep.equal([0, 1, 2]);
    expect(legendRows(all, statistics, '', { by: 'name', isDescending: false })).to.deep.equal([2, 0, 1]);
  });

  it('is unsorted again after the third click', () => {
    const first = nextSort(undefined, 'max');
    const second = nextSort(first, 'max');
    expect([first, second, nextSort(second, 'max')]).to.deep.equal([
      { by: 'max', isDescending: true },
      { by: 'max', isDescending: false },
      undefined,
    ]);
  });
});

describe('the cells of a heatmap', () => {
  const bucket = (le: string, times: readonly number[], values: readonly number[]): ChartSeries => ({
    ...series(times, values, le),
    labels: { le },
  });

  it('are the differences of cumulative buckets, in the order of their bounds', () => {
    const cells = heatmapCells(
      [bucket('+Inf', [0, 10], [9, 9]), bucket('1', [0, 10], [4, 8]), bucket('10', [0, 10], [6, 7])],
      10,
    );
    expect([...cells.times]).to.deep.equal([0, 10]);
    expect(cells.buckets.map(({ low, high, counts }) => [low, high, [...counts]])).to.deep.equal([
      [0, 1, [4, 8]],
      [1, 10, [2, 0]],
      [10, Infinity, [3, 2]],
    ]);
    expect(cells.max).to.equal(8);
  });

  it('are unknown where a bucket has no sample, and leave out what is no bucket', () => {
    const { buckets } = heatmapCells([bucket('1', [0, 20], [1, 2]), series([0], [7]), bucket('x', [0], [7])], 10);
    expect(buckets.map(({ counts }) => [...counts])).to.deep.equal([[1, NaN, 2]]);
    expect(heatmapCells([], 10)).to.deep.equal({ times: new Float64Array(0), buckets: [], max: 0 });
  });

  it('have an axis on which all buckets are seen', () => {
    const bounds = (...les: readonly string[]) =>
      heatmapCells(
        les.map((le) => bucket(le, [0], [1])),
        10,
      ).buckets;
    const wide = bounds('0.01', '0.1', '1', '+Inf');
    expect(isLogarithmic(wide)).to.equal(true);
    expect(drawnBounds(wide, 0).low).to.be.closeTo(0.001, 1e-9);
    expect(drawnBounds(wide, 3).high).to.be.closeTo(10, 1e-9);
    const even = bounds('-10', '0', '10', '20', '+Inf');
    expect(isLogarithmic(even)).to.equal(false);
    expect([drawnBounds(even, 0).low, drawnBounds(even, 4).high]).to.deep.equal([-20, 30]);
  });

  it('are found by time and value', () => {
    const cells = heatmapCells([bucket('1', [0, 10], [4, 8]), bucket('2', [0, 10], [6, 9])], 10);
    expect(cellAt(cells, 10, 5, 1.5)?.count).to.equal(1);
    expect(cellAt(cells, 10, 0, 1)?.count).to.equal(4);
    expect(cellAt(cells, 10, 5, 3)).to.equal(undefined);
    expect(cellAt(cells, 10, 99, 1)).to.equal(undefined);
  });
});

describe('colours of series', () => {
  for (const [theme, colours, backs] of [
    ['light', SERIES_COLOURS_LIGHT, ['#ffffff', '#f5f6f8']],
    ['dark', SERIES_COLOURS_DARK, ['#14171c', '#1b1f26']],
  ] as const) {
    it(`are twenty that differ from each other and from the background of the ${theme} theme`, () => {
      expect(new Set(colours).size).to.equal(20);
      for (const colour of colours) {
        for (const back of backs) expect(contrast(colour, back), colour).to.be.at.least(3);
      }
      for (const [i, colour] of colours.entries()) {
        const nearest = Math.min(...colours.slice(i + 1).map((other) => distance(colour, other)));
        expect(nearest, colour).to.be.at.least(0.05);
      }
    });
  }

  it('are repeated with other dashes', () => {
    expect(seriesStyle(25, true).colour).to.equal(seriesStyle(5, true).colour);
    expect(seriesStyle(25, true).dash).to.not.deep.equal(seriesStyle(5, true).dash);
    expect(seriesStyle(1999, true).colour).to.be.a('string');
  });
});

describe('the texts of a chart', () => {
  it('describe it in a sentence', () => {
    const range = { fromMs: Date.parse('2026-11-21T12:00:00Z'), toMs: Date.parse('2026-11-21T13:00:00Z') };
    const all = [series([0], [0.5], 'web-1'), series([0], [0.93], 'web-2')];
    const statistics = all.map(({ values }) => statisticsOf(values));
    const look = { unit: 'short', zone: 'UTC' } as const;
    expect(chartSentence(all, statistics, range, look)).to.equal(
      '2 series, 2026-11-21 12:00 to 13:00, highest web-2 0.93',
    );
    expect(chartSentence([], [], range, look)).to.equal('0 series, 2026-11-21 12:00 to 13:00, no value');
  });

  it('are CSV with a column for each series, quoted names, and times of the zone', () => {
    const all = [series([0, 1000], [1, 0.1 + 0.2], 'a,"b"'), series([1000], [-Infinity], 'c')];
    expect(wideCsv(all, 'Asia/Kolkata')).to.equal(
      'time (Asia/Kolkata),"a,""b""",c\r\n' +
        '1970-01-01T05:30:00.000+05:30,1,\r\n' +
        '1970-01-01T05:30:01.000+05:30,0.30000000000000004,-Inf\r\n',
    );
  });

  it('are CSV with a row for each sample, without gaps', () => {
    const all = [series([0, 1000], [1, NaN], 'a,"b"'), series([1000], [Infinity], 'c')];
    expect(longCsv(all, 'UTC')).to.equal(
      'time (UTC),series,value\r\n' +
        '1970-01-01T00:00:00.000Z,"a,""b""",1\r\n' +
        '1970-01-01T00:00:01.000Z,c,+Inf\r\n',
    );
  });
});

function channels(hex: string): [number, number, number] {
  const linear = [1, 3, 5].map((at) => {
    const share = parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return [linear[0], linear[1], linear[2]];
}

/** By WCAG 2. */
function contrast(a: string, b: string): number {
  const [light, dark] = [a, b].map((hex) => {
    const [red, green, blue] = channels(hex);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  });
  return Math.max(light / dark, dark / light);
}

/** In OKLab, where 0.02 is just noticeable. */
function distance(a: string, b: string): number {
  const [one, other] = [a, b].map((hex) => {
    const [red, green, blue] = channels(hex);
    const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
    const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
    const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  });
  return Math.hypot(...one.map((value, i) => value - other[i]));
}

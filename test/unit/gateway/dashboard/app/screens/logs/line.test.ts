import { expect } from 'chai';

import { histogramInterval, histogramOf } from '#services/gateway/dashboard/app/screens/logs/histogram-data';
import { levelInLine, levelOf } from '#services/gateway/dashboard/app/screens/logs/search/levels';
import { lineSegments, markPatterns } from '#services/gateway/dashboard/app/screens/logs/line-segments';
import { structuredFields } from '#services/gateway/dashboard/app/screens/logs/structured';
import { parseSearch } from '#services/gateway/dashboard/app/screens/logs/search/search';

const marked = (line: string, search: string): string[] => {
  const segments = lineSegments(line, markPatterns(parseSearch(search), 'line'));
  return segments.filter(({ isMarked }) => isMarked).map(({ text }) => text);
};

describe('the text of a line', () => {
  it('marks what must be found, and nothing that must not', () => {
    expect(marked('Disk full, disks full', 'disk')).to.deep.equal(['Disk']);
    expect(marked('a b c', '-a "b c"')).to.deep.equal(['b c']);
    expect(marked('x1 y2', 'line~"[xy]\\d" OR x1')).to.deep.equal(['x1', 'y2']);
    expect(marked('a.b axb', 'a.b')).to.deep.equal(['a.b']);
  });

  it('shows colours of terminals as classes, and other control characters as symbols', () => {
    const segments = lineSegments('\u001b[1;31mbad\u001b[0m ok\u0000\u001b[2K', []);
    expect(segments.map(({ text, classes }) => [text, classes])).to.deep.equal([
      ['bad', 'ansi-red ansi-bold'],
      [' ok␀', ''],
    ]);
  });

  it('links only addresses of http and https', () => {
    const links = lineSegments('see https://a.test/x?y=1. and javascript:alert(1) ftp://b', []).map(({ link }) => link);
    expect(links.filter(Boolean)).to.deep.equal(['https://a.test/x?y=1']);
  });

  it('keeps the text when marks, colours and links overlap', () => {
    const line = 'to \u001b[32mhttps://a.test/disk/x\u001b[0m end';
    const segments = lineSegments(line, markPatterns(parseSearch('disk'), 'line'));
    expect(segments.map(({ text }) => text).join('')).to.equal('to https://a.test/disk/x end');
    expect(segments.find(({ isMarked }) => isMarked)).to.deep.equal({
      text: 'disk',
      isMarked: true,
      classes: 'ansi-green',
      link: 'https://a.test/disk/x',
    });
  });

  it('has fields if it is JSON or logfmt', () => {
    expect([...(structuredFields('{"a":{"b":1},"c":"x","d":[1]}') ?? [])]).to.deep.equal([
      ['a.b', '1'],
      ['c', 'x'],
      ['d', '[1]'],
    ]);
    expect([...(structuredFields('level=info msg="a \\"b\\"" n=1') ?? [])]).to.deep.equal([
      ['level', 'info'],
      ['msg', 'a "b"'],
      ['n', '1'],
    ]);
    expect(structuredFields('see http://h/?a=1')).to.equal(undefined);
    expect(structuredFields('{"a":')).to.equal(undefined);
  });

  it('has a level by its word', () => {
    expect(['WARNING', 'err', '60', 'nothing'].map(levelOf)).to.deep.equal(['warn', 'error', 'fatal', undefined]);
    expect(levelInLine('2026 [INFO] no error')).to.equal('info');
    expect(levelInLine('terror')).to.equal(undefined);
  });
});

describe('the counts of lines over time', () => {
  it('has about 100 bars', () => {
    for (const hours of [0.001, 1, 5, 24, 24 * 30, 24 * 3650]) {
      const range = { fromMs: 0, toMs: hours * 3_600_000 };
      const bars = histogramOf([], range, histogramInterval(range)).bars.length;
      expect(bars).to.be.within(50, 160);
    }
  });

  it('adds up words of one level', () => {
    const rows = [
      { bucket: 0, level: 'err', lines: 2 },
      { bucket: 0, level: 'error', lines: 3 },
      { bucket: 1, level: '', lines: 1 },
      { bucket: 99, level: '', lines: 1 },
    ];
    const { bars, total, highest, totals } = histogramOf(rows, { fromMs: 1000, toMs: 4000 }, 1000);
    expect(bars.map((bar) => bar.total)).to.deep.equal([5, 1, 0]);
    expect([total, highest, totals.get('error'), totals.get('other')]).to.deep.equal([6, 5, 5, 1]);
  });
});

import { expect } from 'chai';
import fc from 'fast-check';

import {
  findPatterns,
  PATTERNS_MAX,
  TREND_INTERVALS,
  type TimedLine,
} from '#services/gateway/dashboard/app/screens/logs/patterns/log-patterns';
import { maskLine, patternRegex } from '#services/gateway/dashboard/app/screens/logs/patterns/mask-line';

const textOf = (line: string): string =>
  maskLine(line)
    .parts.map(({ text }) => text)
    .join('');
const regexOf = (line: string): RegExp => new RegExp(patternRegex(maskLine(line)), 'u');
const linesOf = (texts: readonly string[]): TimedLine[] => texts.map((text, i) => ({ text, timeNs: BigInt(i) }));
const noPause = (): Promise<void> => Promise.resolve();

describe('the pattern of a line', () => {
  const cases: [line: string, pattern: string][] = [
    ['request 17 served in 3.5ms, 99%', 'request <number> served in <number>ms, <number>%'],
    ['delta=-4 range 1-2', 'delta=<number> range <number>-<number>'],
    ['2026-11-26T23:08:42.123Z up', '<time> up'],
    ['2026/11/26 23:08:42 up', '<time> up'],
    ['[26/Nov/2026:23:08:42 +0000] GET', '[<time>] GET'],
    ['Nov  6 23:08:42 host cron', '<time> host cron'],
    ['at 9:08:42,5 x', 'at <time> x'],
    ['id 0af76519-16cd-43dd-8448-eb211c80319c.', 'id <uuid>.'],
    ['from 10.0.0.1:8080 and 10.0.0.0/8', 'from <ip> and <ip>'],
    ['from [2001:db8::1]:80 or ::1', 'from [<ip>]:<number> or <ip>'],
    ['std::vector and abc::def', 'std::vector and abc::def'],
    ['0x1F trace_id=0af7651916cd43dd8448eb211c80319c deadbeef', '<hex> trace_id=<hex> deadbeef'],
    ['web-1 utf8 /v1/users/42', 'web-<number> utf<number> /v<number>/users/<number>'],
    ['pod x2x4k', 'pod <id>'],
    ['open "a \\"b\\" c" and \'d\'', 'open "<text>" and \'<text>\''],
    ["don't stop", "don't stop"],
    ['level="info" msg="user 5 left" user="ann"', 'level="info" msg="user <number> left" user="<text>"'],
    ['{"msg":"done","user":"ann","n":5}', '{"msg":"done","user":"<text>","n":<number>}'],
    ['a   b\tc', 'a b c'],
    ['\u001b[31mred\u001b[0m 1', 'red <number>'],
    ['Größe 5, 日本 7', 'Größe <number>, 日本 <number>'],
    ['an open "quote', 'an open "quote'],
    ['', ''],
  ];
  for (const [line, pattern] of cases) {
    it(`of ${JSON.stringify(line)} is ${JSON.stringify(pattern)}`, () => expect(textOf(line)).to.equal(pattern));
  }

  it('finds the line by its regular expression, and lines of the pattern only', () => {
    for (const [line] of cases) expect(regexOf(line).test(line), line).to.equal(true);
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (line) => regexOf(line).test(line)));
    const words = fc.constantFrom('"', "'", ' ', '12', 'abc', '0x1', '\\', '{', ':', '\u0000', '\u001b[1m', '😀', '\n');
    fc.assert(
      fc.property(fc.array(words, { maxLength: 400 }), (parts) => regexOf(parts.join('')).test(parts.join(''))),
    );
    const regex = regexOf('request 17 of "ann" (a|b)');
    expect(regex.test('request 4.5 of "bob \\"x\\"" (a|b)')).to.equal(true);
    expect(regex.test('request many of "ann" (a|b)')).to.equal(false);
    expect(regex.test('a request 17 of "ann" (a|b)')).to.equal(false);
    expect(regex.test('request 17 of "ann" a')).to.equal(false);
  });

  it('looks at the beginning of a long line', () => {
    const long = `request 5 ${'word '.repeat(200_000)}`;
    const masked = maskLine(long);
    expect(masked.isCut).to.equal(true);
    for (const id of [7, 77, 777_777]) {
      expect(masked.key).to.equal(maskLine(`request ${id} ${'word '.repeat(150)}`).key);
    }
    expect(regexOf(long).test(long)).to.equal(true);
    expect(textOf(`x "${'word '.repeat(300)}" y`)).to.equal('x "<text>" y');
    expect(textOf(`x "${'word '.repeat(3000)}" y`)).to.equal('x "<text>');
    const flat = `a${'😀'.repeat(500_000)}`;
    expect(textOf(flat)).to.equal(flat.slice(0, 501));
    expect(regexOf(flat).test(flat)).to.equal(true);
  });
});

describe('the patterns of lines', () => {
  it('count similar lines over time, and have the newest one', async () => {
    const lines = Array.from({ length: 48 }, (_, i) => ({
      text: i % 4 === 0 ? `disk ${i} full` : `request ${i} served`,
      timeNs: BigInt(i) * 1_000_000_000n,
    })).reverse();
    const { patterns, lineCount, otherCount } = await findPatterns(lines, noPause);
    expect(patterns.map(({ count, newest }) => [count, newest.text])).to.deep.equal([
      [36, 'request 47 served'],
      [12, 'disk 44 full'],
    ]);
    expect(patterns[1].trend).to.deep.equal(Array.from({ length: TREND_INTERVALS }, (_, i) => (i % 2 === 0 ? 1 : 0)));
    expect([lineCount, otherCount]).to.deep.equal([48, 0]);
    expect((await findPatterns([], noPause)).patterns).to.deep.equal([]);
  });

  it(`are at most ${PATTERNS_MAX}; lines of others are counted`, async () => {
    const letters = (i: number): string => i.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)]);
    const texts = Array.from({ length: PATTERNS_MAX + 50 }, (_, i) => `only ${letters(i)}`);
    const { patterns, otherCount } = await findPatterns(linesOf(texts), noPause);
    expect(patterns).to.have.length(PATTERNS_MAX);
    expect(otherCount).to.equal(50);
  });

  it('are made in slices, and no longer when they are not wanted', async () => {
    const lines = linesOf(Array.from({ length: 100_000 }, (_, i) => `request ${i} of "user ${i}" took ${i / 7} ms`));
    let pauses = 0;
    const counted = await findPatterns(lines, () => Promise.resolve(void pauses++));
    expect(counted.patterns.map(({ count }) => count)).to.deep.equal([100_000]);
    expect(pauses).to.be.greaterThan(0);
    const abort = new AbortController();
    const stopped = findPatterns(lines, () => Promise.resolve(abort.abort()), abort.signal);
    const error = await stopped.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).to.have.property('name', 'AbortError');
  });
});

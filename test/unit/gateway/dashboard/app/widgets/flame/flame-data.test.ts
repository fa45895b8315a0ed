import { gzipSync, gunzipSync } from 'node:zlib';

import { expect } from 'chai';
import { Profile } from 'pprof-format';

import { encodePprof } from '#services/gateway/dashboard/app/screens/profiles/pprof';
import {
  flameBoxes,
  flameTree,
  foundValue,
  frameChanges,
  frameSums,
  isFound,
  type FlameData,
} from '#services/gateway/dashboard/app/widgets/flame/flame-data';

const FRAMES = ['main', 'parse', 'sort', 'compare'].map((name, i) => ({ name, file: `src/${name}.ts`, line: i * 10 }));
const DATA: FlameData = {
  unit: 'nanoseconds',
  total: 100,
  frames: FRAMES,
  stacks: [[0, 1], [0, 2, 3], [0, 2], [0], [0, 2, 3, 2]],
  values: [20, 30, 10, 15, 25],
};

/** Returns the names of a tree's nodes with their values, indented by their depth. */
function drawn(data: FlameData, isInverted = false): string[] {
  return flameTree(data, isInverted).nodes.map(({ frame, depth, start, value, self }) => {
    const name = frame === -1 ? 'all' : data.frames[frame].name;
    return `${' '.repeat(depth)}${name} ${start}+${value} self ${self}`;
  });
}

describe('flame graphs', () => {
  it('join stacks, and put the callee that took most first', () => {
    expect(drawn(DATA)).to.deep.equal([
      'all 0+100 self 0',
      ' main 0+100 self 15',
      '  sort 0+65 self 10',
      '   compare 0+55 self 30',
      '    sort 0+25 self 25',
      '  parse 65+20 self 20',
    ]);
    expect(flameTree(DATA).levelCount).to.equal(5);
  });

  it('are compared with another profile, by the parts of both', () => {
    // The same functions in another order, half of the time, and one that is no longer called.
    const base: FlameData = {
      unit: 'nanoseconds',
      total: 50,
      frames: [FRAMES[2], { ...FRAMES[0], line: 99 }, { name: 'gone', file: '', line: 0 }],
      stacks: [[1, 0], [1], [1, 2]],
      values: [30, 10, 10],
    };
    const bases = flameTree(DATA, false, base).nodes.map(({ frame, base: value }) => [DATA.frames[frame]?.name, value]);
    expect(bases).to.deep.equal([
      [undefined, 100],
      ['main', 100],
      ['sort', 60],
      ['compare', 0],
      ['sort', 0],
      ['parse', 0],
    ]);
    const changes = frameChanges(base, DATA).map(({ name, before, after }) => [name, before, after]);
    expect(changes).to.have.deep.members([
      ['sort', 0.6, 0.35],
      ['main', 0.2, 0.15],
      ['gone', 0.2, 0],
      ['parse', 0, 0.2],
      ['compare', 0, 0.3],
    ]);
  });

  it('show callers below callees when they are inverted', () => {
    expect(drawn(DATA, true)).to.deep.equal([
      'all 0+100 self 0',
      ' sort 0+35 self 0',
      '  compare 0+25 self 0',
      '   sort 0+25 self 0',
      '    main 0+25 self 25',
      '  main 25+10 self 10',
      ' compare 35+30 self 0',
      '  sort 35+30 self 0',
      '   main 35+30 self 30',
      ' parse 65+20 self 0',
      '  main 65+20 self 20',
      ' main 85+15 self 15',
    ]);
  });

  it('make the focused call and its callers as wide as the graph', () => {
    const tree = flameTree(DATA);
    const all = flameBoxes(tree, 0, 1000).map(({ node, x, width }) => [node, x, width]);
    expect(all).to.deep.equal([
      [0, 0, 1000],
      [1, 0, 1000],
      [2, 0, 650],
      [3, 0, 550],
      [4, 0, 250],
      [5, 650, 200],
    ]);
    const focused = flameBoxes(tree, 3, 1000);
    expect(focused.map(({ node }) => node)).to.deep.equal([0, 1, 2, 3, 4]);
    for (const { x, width } of focused.slice(0, 4)) expect([x, Math.round(width * 1e6)]).to.deep.equal([0, 1e9]);
    expect(focused[4].width).to.be.closeTo((1000 * 25) / 55, 0.001);
  });

  it('leave out boxes that cannot be seen', () => {
    const narrow = flameBoxes(flameTree(DATA), 0, 2).map(({ node }) => node);
    expect(narrow).to.deep.equal([0, 1, 2, 3, 4]);
    expect(flameBoxes(flameTree({ ...DATA, stacks: [], values: [], total: 0 }), 0, 100)).to.have.length(0);
  });

  it('draw stacks that are deeper than a recursive function could be', () => {
    const stack = Array.from({ length: 50_000 }, () => 0);
    const tree = flameTree({ ...DATA, stacks: [stack], values: [1] });
    expect(tree.levelCount).to.equal(50_001);
  });

  it('count recursive calls of a function once in its total', () => {
    const sums = frameSums(DATA).map(({ self, total }) => [self, total]);
    expect(sums).to.deep.equal([
      [15, 100],
      [20, 20],
      [35, 65],
      [30, 55],
    ]);
  });

  it('find functions by words of their names and files', () => {
    expect(isFound(FRAMES[2], 'SORT src')).to.equal(true);
    expect(isFound(FRAMES[2], 'sort parse')).to.equal(false);
    expect(isFound(FRAMES[2], ' ')).to.equal(false);
    expect(foundValue(DATA, 'compare')).to.equal(55);
    expect(foundValue(DATA, 'nothing')).to.equal(0);
  });
});

describe('profiles that the page stores', () => {
  it('are read by another decoder of pprof', () => {
    const values = [2 ** 40 + 1, 30, 10, 15, 25];
    const facts = { type: 'cpu', takenMs: 1_700_000_000_123, durationMs: 5003 };
    const packed = gzipSync(encodePprof({ ...DATA, values }, facts));
    const profile = Profile.decode(gunzipSync(packed));
    const text = (index: number | bigint): string => profile.stringTable.strings[Number(index)];
    expect(profile.sampleType.map(({ type, unit }) => [text(type), text(unit)])).to.deep.equal([
      ['cpu', 'nanoseconds'],
    ]);
    const functions = new Map(profile.function.map((it) => [Number(it.id), it]));
    const nameOf = (id: number | bigint): string => {
      const [line] = profile.location.find((location) => Number(location.id) === Number(id))?.line ?? [];
      const found = functions.get(Number(line.functionId));
      return `${text(found?.name ?? 0)} ${text(found?.filename ?? 0)}:${found?.startLine}`;
    };
    const samples = profile.sample.map(({ locationId, value }) => [locationId.map(nameOf), value.map(Number)]);
    expect(samples[0]).to.deep.equal([['parse src/parse.ts:10', 'main src/main.ts:0'], [2 ** 40 + 1]]);
    expect(samples[4][0]).to.have.length(4);
    expect(BigInt(profile.timeNanos)).to.equal(1_700_000_000_123_000_000n);
    expect(BigInt(profile.durationNanos)).to.equal(5_003_000_000n);
  });
});

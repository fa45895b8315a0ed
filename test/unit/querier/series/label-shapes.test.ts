import { expect } from 'chai';

import { LabelShapes } from '#services/querier/series/label-shapes';

describe('LabelShapes', () => {
  const shapes = new LabelShapes();
  const pairsOf = (...pairs: [string, string][]): unknown => {
    return [...shapes.labels((add) => pairs.forEach(([name, value]) => add(name, value))).pairs()];
  };

  it('sorts names by their bytes, whatever the order of the labels', () => {
    expect(pairsOf(['b', '1'], ['a', '2'], ['\u{1F600}', '3'], ['\u{FB00}', '4'])).to.deep.equal([
      ['a', '2'],
      ['b', '1'],
      ['\u{FB00}', '4'],
      ['\u{1F600}', '3'],
    ]);
    expect(pairsOf(['a', '2'], ['b', '1'])).to.deep.equal([
      ['a', '2'],
      ['b', '1'],
    ]);
    expect(pairsOf()).to.deep.equal([]);
  });

  it('uses the last of duplicate names, and treats names of built-in properties like others', () => {
    expect(pairsOf(['__name__', 'table'], ['host', 'x'], ['__name__', 'tag'])).to.deep.equal([
      ['__name__', 'tag'],
      ['host', 'x'],
    ]);
    expect(pairsOf(['__proto__', 'x'], ['constructor', 'y'])).to.deep.equal([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });
});

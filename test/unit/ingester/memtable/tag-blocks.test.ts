import { expect } from 'chai';

import { TagBlocks } from '#services/ingester/memtable/tag-blocks';

function tagsOf(sid: number): Uint8Array {
  return Buffer.from(`tags of series ${sid}`);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

describe('TagBlocks', () => {
  it('returns the tags of series, from any first one', () => {
    const blocks = new TagBlocks();
    for (let sid = 1500; sid < 5000; sid++) blocks.add(sid, tagsOf(sid));
    for (const sid of [1500, 2047, 2048, 4999]) expect(textOf(blocks.at(sid))).to.equal(`tags of series ${sid}`);
  });

  it('keeps a run unchanged, whatever is discarded and added meanwhile', () => {
    const blocks = new TagBlocks();
    for (let sid = 0; sid < 3000; sid++) blocks.add(sid, tagsOf(sid));
    const run = blocks.run(1000, 3000);
    blocks.discardBelow(3000);
    for (let sid = 3000; sid < 6000; sid++) blocks.add(sid, tagsOf(sid));
    expect(run.length).to.equal(2000);
    expect([run.at(0), run.at(1999)].map(textOf)).to.deep.equal(['tags of series 1000', 'tags of series 2999']);
    expect(textOf(blocks.at(3000))).to.equal('tags of series 3000');
  });

  it('keeps what shares a block with a series that is not discarded', () => {
    const blocks = new TagBlocks();
    for (let sid = 0; sid < 3000; sid++) blocks.add(sid, tagsOf(sid));
    blocks.discardBelow(2999);
    expect(textOf(blocks.at(2999))).to.equal('tags of series 2999');
    blocks.discardBelow(3000);
    expect(blocks.bytes).to.equal(0);
    expect(blocks.run(3000, 3000).length).to.equal(0);
  });

  it('takes little more than the tags themselves', () => {
    const blocks = new TagBlocks();
    for (let sid = 0; sid < 100_000; sid++) blocks.add(sid, new Uint8Array(200));
    expect(blocks.bytes / 100_000).to.be.below(200 * 1.4);
  });
});

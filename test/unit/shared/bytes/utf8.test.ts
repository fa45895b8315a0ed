import { expect } from 'chai';

import { joinUtf8 } from '#shared/bytes/utf8';

describe('joined text', () => {
  const BEFORE = 'ä😀[';
  const AFTER = ']€';
  const text = Buffer.from('1,ü,2');

  for (const [what, before, after] of [
    ['strings', BEFORE, AFTER],
    ['bytes', Buffer.from(BEFORE), Buffer.from(AFTER)],
    ['bytes before it', Buffer.from(BEFORE), AFTER],
    ['bytes after it', BEFORE, Buffer.from(AFTER)],
  ] as const) {
    it(`has all characters between ${what}`, () => {
      expect(Buffer.from(joinUtf8(before, text, after)).toString()).to.equal('ä😀[1,ü,2]€');
    });
  }

  it('keeps its bytes when others are joined later, whatever their sizes', () => {
    const sizes = Array.from({ length: 200 }, (_, i) => (i * 977) % 20_000);
    const joins = sizes.map((size, i) => joinUtf8(`${i}[`, Buffer.alloc(size, i % 256), `]${i}`));
    for (const [i, bytes] of joins.entries()) {
      const expected = Buffer.concat([Buffer.from(`${i}[`), Buffer.alloc(sizes[i], i % 256), Buffer.from(`]${i}`)]);
      expect(Buffer.compare(bytes, expected), String(i)).to.equal(0);
    }
  });

  it('may be empty', () => {
    expect(joinUtf8('', Buffer.alloc(0), '').length).to.equal(0);
  });
});

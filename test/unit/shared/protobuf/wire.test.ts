import assert from 'node:assert/strict';

import { Reader, Writer } from 'protobufjs';

import { varintLength } from '#shared/bytes/varint';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BYTES, VARINT, WireReader } from '#shared/protobuf/wire-reader';
import { bigVarintLength, WireWriter } from '#shared/protobuf/wire-writer';

const INTEGERS = [
  0,
  1,
  127,
  128,
  16_383,
  16_384,
  2 ** 28,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 35,
  2 ** 42,
  2 ** 49,
  2 ** 53 - 1,
];

describe('wire format of protocol buffers', () => {
  it('writes integers as protobufjs does, with the announced length', () => {
    for (const value of [...INTEGERS, ...INTEGERS.map((it) => -it)]) {
      const out = new WireWriter();
      out.varint(value);
      const expected = Writer.create().int64(value).finish();
      assert.deepEqual([...out.take()], [...expected], String(value));
      assert.equal(varintLength(value), value === 0 ? 1 : expected.length, String(value));
      assert.equal(bigVarintLength(BigInt(value)), expected.length, String(value));
    }
  });

  it('reads back 64-bit integers, exactly and as numbers', () => {
    for (const value of [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -300n]) {
      const out = new WireWriter();
      out.bigVarint(value);
      const bytes = out.take();
      const reader = new WireReader(bytes);
      reader.varint64(0, bytes.length);
      assert.equal(BigInt.asIntN(64, reader.bigUnsigned), value);
      assert.equal(reader.signed, Number(value));
      assert.equal(reader.at, bytes.length);
    }
  });

  it('writes nested messages, texts and bytes that other decoders read', () => {
    const out = new WireWriter();
    out.message(0x0a, () => {
      out.text(0x0a, 'ä'.repeat(100));
      out.message(0x12, () => out.bytes(0x0a, Buffer.from('inner')));
    });
    const reader = Reader.create(out.take());
    assert.equal(reader.uint32(), 0x0a);
    const end = reader.uint32() + reader.pos;
    assert.equal(reader.uint32(), 0x0a);
    assert.equal(reader.string(), 'ä'.repeat(100));
    assert.equal(reader.uint32(), 0x12);
    assert.equal(reader.uint32(), 7);
    assert.equal(reader.uint32(), 0x0a);
    assert.equal(Buffer.from(reader.bytes()).toString(), 'inner');
    assert.equal(reader.pos, end);
  });

  it('fills a buffer of exact length without growing it', () => {
    const out = new WireWriter(11);
    out.varint(300);
    out.lengthAndText('texts');
    out.byte(1);
    out.varint(200);
    const bytes = out.take();
    assert.equal(bytes.length, 11);
    assert.deepEqual([...bytes.subarray(8)], [1, 0xc8, 1]);
  });

  it('visits fields, with the content of those that have a length', () => {
    const bytes = Buffer.from(Writer.create().uint32(0x08).int32(150).uint32(0x12).string('ab').finish());
    const seen: unknown[] = [];
    const reader = new WireReader(bytes);
    reader.eachField(0, bytes.length, (field, type, from, end) => seen.push([field, type, from, end, reader.low]));
    assert.deepEqual(seen, [
      [1, VARINT, 1, 3, 150],
      [2, BYTES, 5, 7, 150],
    ]);
  });

  it('throws the given error for truncated bytes and unknown wire types', () => {
    const whole = Buffer.from(
      Writer.create().uint32(0x09).double(1.5).uint32(0x12).string('ab').uint32(0x1d).fixed32(7).finish(),
    );
    const fail = (): AlmanacError => new AlmanacError('unexpected', 'cut off');
    const boundaries = new Set([9, 13]);
    for (let length = 1; length < whole.length; length++) {
      if (boundaries.has(length)) continue;
      const bytes = whole.subarray(0, length);
      assert.throws(() => new WireReader(bytes, fail).eachField(0, length, () => undefined), /cut off/);
    }
    for (const bytes of [Buffer.from([0x0b]), Buffer.from([0x00, 0x01]), Buffer.alloc(11, 0xff)]) {
      assert.throws(() => new WireReader(bytes).eachField(0, bytes.length, () => undefined), /unexpected EOF/);
    }
  });
});

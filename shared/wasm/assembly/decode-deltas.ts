/**
 * Decodes integers in Parquet's encoding DELTA_BINARY_PACKED:
 *
 *     header     varint values per block, varint miniblocks per block, varint count, zigzag varint first value
 *     block      zigzag varint least difference, a byte for the width of each miniblock, miniblocks
 *     miniblock  differences less the least one, each as `width` bits
 *
 * Anything else is a trap: a length beyond the end, for example. Results are bytes, words or doubles; carries are dropped.
 */

// How vectors unpack fields: these move to the high end of lanes by multiplication, and then to the low end by a shift.
const BYTE_WIDTH_MAX: i32 = 8;
const BYTE_TABLE_BYTES: i32 = 48;
const WORD_WIDTH_MAX: i32 = 25;
const WORD_TABLE_BYTES: i32 = 64;
const BYTE_TABLES = memory.data(BYTE_WIDTH_MAX * BYTE_TABLE_BYTES, 16);
const WORD_TABLES = memory.data((WORD_WIDTH_MAX + 1) * WORD_TABLE_BYTES, 16);
const BLOCK_VALUES_MAX: i32 = 65536;
/** The first free address. */
const RESULTS: usize = memory.size() << 16;
/** The longest field that is in eight bytes, whatever its first bit. */
const WIDTH_MAX: i32 = 57;

writeByteTables();
writeWordTables();

/** For each width the bytes of the first and of the second eight fields, each of which is in two bytes, and the factors. */
function writeByteTables(): void {
  for (let width = 1; width <= BYTE_WIDTH_MAX; width++) {
    const table = BYTE_TABLES + (width - 1) * BYTE_TABLE_BYTES;
    for (let i = 0; i < 8; i++) {
      const bit = i * width;
      for (let k = 0; k < 2; k++) {
        store<u8>(table + 2 * i + k, u8((bit >> 3) + k));
        store<u8>(table + 16 + 2 * i + k, u8((bit >> 3) + width + k));
      }
      store<u16>(table + 32 + 2 * i, <u16>((<i32>1) << (16 - width - (bit & 7))));
    }
  }
}

/** For each width the bytes of the first and of the second four fields, each of which is in four bytes, and the factors of both. */
function writeWordTables(): void {
  for (let width = 1; width <= WORD_WIDTH_MAX; width++) {
    for (let half = 0; half < 2; half++) {
      const table = WORD_TABLES + width * WORD_TABLE_BYTES + half * 16;
      for (let i = 0; i < 4; i++) {
        // The second half begins within a byte if the width is odd.
        const bit = i * width + (half & width) * 4;
        for (let k = 0; k < 4; k++) store<u8>(table + 4 * i + k, u8((bit >> 3) + k));
        store<u32>(table + 32 + 4 * i, u32(1) << (32 - width - (bit & 7)));
      }
    }
  }
}

/** Position of the next byte of the page, and its end. */
let at: usize = 0;
let end: usize = 0;

/**
 * Decodes a page of `count` values at `[from, to)`, which is followed by 16 bytes that may be read.
 *
 * @param size of each result: 1, 4, or 8 for doubles. They are the values less `base`, at `RESULTS`; up to 15 values more are written.
 */
export function decodePage(size: i32, from: usize, to: usize, count: i32, base: i64): void {
  at = from;
  end = to;
  const blockValues = length();
  const miniblocks = length();
  if (length() != count || miniblocks == 0 || blockValues > BLOCK_VALUES_MAX) unreachable();
  const values = blockValues / miniblocks;
  if (values == 0 || values % 32 != 0 || values * miniblocks != blockValues) unreachable();
  let last = zigzag() - base;
  if (count == 0) return;
  put(size, RESULTS, last);
  for (let done = 1; done < count;) {
    const least = zigzag();
    const widths = at;
    skip(miniblocks);
    for (let i = 0; i < miniblocks && done < count; i++) {
      const width = <i32>load<u8>(widths + i);
      if (width > WIDTH_MAX) unreachable();
      const fields = at;
      skip((values >> 3) * width);
      const n = min(values, count - done);
      const out = RESULTS + done * size;
      if (size == 1 && width > 0 && width <= BYTE_WIDTH_MAX) last = addBytes(fields, width, least, last, out, n);
      else if (size == 4 && width <= WORD_WIDTH_MAX) last = addWords(fields, width, least, last, out, n);
      else last = addEach(size, fields, width, least, last, out, n);
      done += n;
    }
  }
}

/** Writes the sums of 16 differences at once. @returns the last one */
function addBytes(from: usize, width: i32, least: i64, last: i64, out: usize, count: i32): i64 {
  const table = BYTE_TABLES + (width - 1) * BYTE_TABLE_BYTES;
  const first = v128.load(table);
  const second = v128.load(table, 16);
  const factors = v128.load(table, 32);
  const leasts = i8x16.splat(<i8>least);
  const zero = i8x16.splat(0);
  let lasts = i8x16.splat(<i8>last);
  for (const end = out + count; out < end; out += 16, from += 2 * width) {
    const fields = v128.load(from);
    const low = i16x8.shr_u(i16x8.mul(i8x16.swizzle(fields, first), factors), 16 - width);
    const high = i16x8.shr_u(i16x8.mul(i8x16.swizzle(fields, second), factors), 16 - width);
    let sums = i8x16.add(i8x16.narrow_i16x8_u(low, high), leasts);
    // Of 2, 4, 8 and 16 neighbours.
    sums = i8x16.add(sums, i8x16.shuffle(zero, sums, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30));
    sums = i8x16.add(sums, i8x16.shuffle(zero, sums, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29));
    sums = i8x16.add(sums, i8x16.shuffle(zero, sums, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27));
    sums = i8x16.add(sums, i8x16.shuffle(zero, sums, 0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23));
    sums = i8x16.add(sums, lasts);
    v128.store(out, sums);
    lasts = i8x16.shuffle(sums, sums, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15);
  }
  return i8x16.extract_lane_u(lasts, 0);
}

/** Writes the sums of eight differences at once. @returns the last one */
function addWords(from: usize, width: i32, least: i64, last: i64, out: usize, count: i32): i64 {
  const table = WORD_TABLES + width * WORD_TABLE_BYTES;
  const first = v128.load(table);
  const second = v128.load(table, 16);
  const firstFactors = v128.load(table, 32);
  const secondFactors = v128.load(table, 48);
  const leasts = i32x4.splat(<i32>least);
  let lasts = i32x4.splat(<i32>last);
  for (const end = out + 4 * count; out < end; out += 32, from += width) {
    lasts = fourWords(i8x16.swizzle(v128.load(from), first), firstFactors, width, leasts, lasts);
    v128.store(out, lasts);
    lasts = fourWords(i8x16.swizzle(v128.load(from + (width >> 1)), second), secondFactors, width, leasts, lasts);
    v128.store(out, lasts, 16);
  }
  return i32x4.extract_lane(lasts, 3);
}

/** Returns the next four sums; the last lane of `lasts` has the one before. */
function fourWords(fields: v128, factors: v128, width: i32, leasts: v128, lasts: v128): v128 {
  const zero = i32x4.splat(0);
  let sums = i32x4.add(i32x4.shr_u(i32x4.mul(fields, factors), 32 - width), leasts);
  sums = i32x4.add(sums, i32x4.shuffle(zero, sums, 0, 4, 5, 6));
  sums = i32x4.add(sums, i32x4.shuffle(zero, sums, 0, 0, 4, 5));
  return i32x4.add(sums, i32x4.shuffle(lasts, lasts, 3, 3, 3, 3));
}

/** Writes the sums of differences, one after the other. @returns the last one */
function addEach(size: i32, from: usize, width: i32, least: i64, last: i64, out: usize, count: i32): i64 {
  const mask = (u64(1) << width) - 1;
  for (let i = 0, bit = 0; i < count; i++, bit += width) {
    last += least + ((load<u64>(from + (bit >> 3)) >> (bit & 7)) & mask);
    put(size, out + i * size, last);
  }
  return last;
}

function put(size: i32, out: usize, value: i64): void {
  if (size == 8) store<f64>(out, <f64>value);
  else if (size == 4) store<i32>(out, <i32>value);
  else store<u8>(out, <u8>value);
}

function skip(bytes: i32): void {
  if (<usize>bytes > end - at) unreachable();
  at += bytes;
}

function varint(): u64 {
  let value: u64 = 0;
  for (let shift: u64 = 0; shift < 70; shift += 7) {
    if (at >= end) unreachable();
    const byte = load<u8>(at++);
    value |= (<u64>(byte & 127)) << shift;
    if (byte < 128) return value;
  }
  return unreachable();
}

function zigzag(): i64 {
  const value = varint();
  return <i64>((value >> 1) ^ (0 - (value & 1)));
}

function length(): i32 {
  const value = varint();
  if (value > <u64>i32.MAX_VALUE) unreachable();
  return <i32>value;
}

import { bucketLowerBound, bucketUpperBound } from './bounds.js';
import { compacted, isCustom, type Buckets, type Histogram } from './histogram.js';

/** An interval of values with the number of observations in it that are kept. */
interface Piece {
  readonly lower: number;
  readonly upper: number;
  readonly kept: number;
  /** Whether values are spread evenly over it; otherwise their logarithms are. */
  readonly isLinear: boolean;
}

/**
 * The observations below a value (`h </ x`) or above it (`h >/ x`). A bucket that the value cuts keeps an interpolated
 * part. Sum and count are estimated anew from what is kept, unless that is everything.
 */
export function trimmed(histogram: Histogram, op: '</' | '>/', value: number): Histogram {
  const isBelow = op === '</';
  const pieces: Piece[] = [];
  let isChanged = false;
  const trim = (buckets: Buckets, sign: 1 | -1): Buckets => {
    const counts = buckets.indexes.map((index, i) => {
      const count = buckets.counts[i];
      const [lower, upper] = boundsOf(histogram, index, sign);
      const piece = cut(histogram, { lower, upper, kept: count, isLinear: isCustom(histogram) }, value, isBelow);
      if (piece.kept !== count) isChanged = true;
      if (piece.kept !== 0) pieces.push(piece);
      return piece.kept;
    });
    return { indexes: buckets.indexes, counts };
  };
  const positive = trim(histogram.positive, 1);
  const negative = trim(histogram.negative, -1);
  const zero = cut(histogram, zeroPiece(histogram), value, isBelow);
  if (zero.kept !== histogram.zeroCount) isChanged = true;
  if (zero.kept !== 0) pieces.push(zero);
  if (!isChanged) return histogram;
  const count = pieces.reduce((all, { kept }) => all + kept, 0);
  const sum = pieces.reduce((all, piece) => all + piece.kept * middle(piece), 0);
  return compacted({ ...histogram, positive, negative, zeroCount: zero.kept, count, sum });
}

function boundsOf(histogram: Histogram, index: number, sign: 1 | -1): readonly [number, number] {
  const lower = bucketLowerBound(histogram, index);
  const upper = bucketUpperBound(histogram, index);
  return sign === 1 ? [lower, upper] : [-upper, -lower];
}

/** The zero bucket; on one side only where all other observations are on that side. */
function zeroPiece({ zeroThreshold, zeroCount, positive, negative }: Histogram): Piece {
  const hasPositive = positive.counts.some((count) => count !== 0);
  const hasNegative = negative.counts.some((count) => count !== 0);
  const lower = hasPositive && !hasNegative ? 0 : -zeroThreshold;
  const upper = hasNegative && !hasPositive ? 0 : zeroThreshold;
  return { lower, upper, kept: zeroCount, isLinear: true };
}

/** The part of a piece on the wanted side of the value. */
function cut(histogram: Histogram, piece: Piece, value: number, isBelow: boolean): Piece {
  const { lower, upper, kept } = piece;
  if (kept === 0) return piece;
  if (isCustom(histogram) && lower === -Infinity) return cutFirst(piece, value, isBelow);
  if (upper === Infinity && value < Infinity) {
    return isBelow ? { ...piece, kept: 0 } : { ...piece, lower: Math.max(lower, value) };
  }
  if (value >= upper) return isBelow ? piece : { ...piece, kept: 0 };
  if (value <= lower) return isBelow ? { ...piece, kept: 0 } : piece;
  const share = shareBelow(lower, upper, value, piece.isLinear);
  if (isBelow) return { ...piece, upper: value, kept: kept * share };
  return { ...piece, lower: value, kept: kept * (1 - share) };
}

/** A bucket from minus infinity is taken for one from zero, where its end allows that. */
function cutFirst(piece: Piece, value: number, isBelow: boolean): Piece {
  const { upper, kept } = piece;
  const none = { ...piece, kept: 0 };
  if (isBelow) {
    if (value >= upper) return piece;
    if (value > 0 && upper > 0 && upper < Infinity) {
      return { ...piece, lower: 0, upper: value, kept: (kept * value) / upper };
    }
    return upper <= 0 ? { ...piece, upper: value } : none;
  }
  if (value === -Infinity) return piece;
  if (!(value >= 0 && upper > value) || upper === Infinity) return none;
  return { ...piece, lower: value, kept: kept * (1 - value / upper) };
}

function shareBelow(lower: number, upper: number, value: number, isLinear: boolean): number {
  if (isLinear || (lower <= 0 && upper >= 0)) return (value - lower) / (upper - lower);
  const from = Math.log2(Math.abs(lower));
  return (Math.log2(Math.abs(value)) - from) / (Math.log2(Math.abs(upper)) - from);
}

/** The value that stands for all of a piece. */
function middle({ lower, upper, isLinear }: Piece): number {
  if (lower === -Infinity) return upper > 0 ? upper / 2 : upper;
  if (upper === Infinity) return lower;
  if (isLinear || (lower <= 0 && upper >= 0)) return (lower + upper) / 2;
  const size = Math.sqrt(Math.abs(lower) * Math.abs(upper));
  return lower < 0 ? -size : size;
}

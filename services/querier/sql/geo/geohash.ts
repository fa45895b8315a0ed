import { AlmanacError } from '#shared/errors/almanac-error';

const DIGITS = '0123456789bcdefghjkmnpqrstuvwxyz';
const LENGTH_MAX = 12;

/** Steps to the neighbours of a cell, by latitude and longitude: from north, counterclockwise. */
const DIRECTIONS = [
  [1, 0],
  [1, -1],
  [0, -1],
  [-1, -1],
  [-1, 0],
  [-1, 1],
  [0, 1],
  [1, 1],
] as const;

/** A cell and its centre in degrees. */
interface Cell {
  readonly text: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** Returns the geohash of a point in degrees. @throws `execute_query` if it is none, or for another length than 1 to 12. */
export function geohash(latitude: number, longitude: number, length: number): string {
  return cellOf(latitude, longitude, length).text;
}

/** Each digit halves the cell five times, first by longitude. */
function cellOf(latitude: number, longitude: number, length: number): Cell {
  if (!Number.isInteger(length) || length < 1 || length > LENGTH_MAX) {
    throw new AlmanacError(
      'execute_query',
      `Invalid geohash resolution ${length}, valid value range: [1, ${LENGTH_MAX}]`,
    );
  }
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) {
    throw new AlmanacError('execute_query', `latitude ${latitude} and longitude ${longitude} are no point`);
  }
  const ranges = { longitude: [-180, 180], latitude: [-90, 90] };
  let text = '';
  let isLongitude = true;
  for (let i = 0; i < length; i++) {
    let digit = 0;
    for (let bit = 0; bit < 5; bit++) {
      const range = isLongitude ? ranges.longitude : ranges.latitude;
      const middle = (range[0] + range[1]) / 2;
      const isUpper = (isLongitude ? longitude : latitude) >= middle;
      digit = digit * 2 + (isUpper ? 1 : 0);
      range[isUpper ? 0 : 1] = middle;
      isLongitude = !isLongitude;
    }
    text += DIGITS[digit];
  }
  const middleOf = ([low, high]: number[]): number => (low + high) / 2;
  return { text, latitude: middleOf(ranges.latitude), longitude: middleOf(ranges.longitude) };
}

/** Returns the geohashes of the eight cells around the cell of a point, from north, counterclockwise. */
export function geohashNeighbours(latitude: number, longitude: number, length: number): string[] {
  const centre = cellOf(latitude, longitude, length);
  const bits = length * 5;
  const height = 180 / 2 ** Math.floor(bits / 2);
  const width = 360 / 2 ** Math.ceil(bits / 2);
  return DIRECTIONS.map(([north, east]) => {
    const next = centre.longitude + east * width;
    const wrapped = next > 180 ? next - 360 : next < -180 ? next + 360 : next;
    return geohash(Math.min(90, Math.max(-90, centre.latitude + north * height)), wrapped, length);
  });
}

import type { RowFunction } from '#shared/duckdb/row-functions';

import { geohash, geohashNeighbours } from './geohash.js';

/** Functions of points. */
export const GEO_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_geohash',
    parameters: ['float', 'float', 'int'],
    returns: 'text',
    compute: (latitude, longitude, length) => geohash(latitude as number, longitude as number, Number(length)),
  },
  {
    name: 'almanac_geohash_neighbours',
    parameters: ['float', 'float', 'int'],
    returns: 'text[]',
    compute: (latitude, longitude, length) =>
      geohashNeighbours(latitude as number, longitude as number, Number(length)),
  },
];

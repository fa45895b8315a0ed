import type * as s2Library from 'nodes2ts';

import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

type Library = typeof s2Library;
type Cell = InstanceType<Library['S2CellId']>;

let loaded: Library | undefined;

/** Loads the library of S2, which only queries that use it need. */
export async function loadS2(): Promise<void> {
  loaded ??= await import('nodes2ts');
}

function library(): Library {
  if (loaded === undefined) throw new AlmanacError('execute_query', 'S2 is not loaded');
  return loaded;
}

function cellOf(number: unknown): Cell {
  const cell = new (library().S2CellId)(number as bigint);
  if (cell.isValid()) return cell;
  throw new AlmanacError('execute_query', `S2 error: invalid cell ${String(number)}`);
}

/** A cell of level 30 at the point. */
function cellAt(latitude: number, longitude: number): bigint {
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) {
    throw new AlmanacError('execute_query', `S2 error: latitude ${latitude} and longitude ${longitude} are no point`);
  }
  const { S2CellId, S2LatLng } = library();
  return S2CellId.fromPoint(S2LatLng.fromDegrees(latitude, longitude).toPoint()).id;
}

function parentOf(number: unknown, level: number): bigint {
  const cell = cellOf(number);
  if (level >= 0 && level <= cell.level()) return cell.parentL(level).id;
  throw new AlmanacError(
    'execute_query',
    `S2 error: level ${level} is no parent of a cell of level ${cell.level()}: use a lower one, from 0`,
  );
}

/** Functions of S2 cells, which are 64-bit numbers. */
export const S2_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_s2_latlng_to_cell',
    parameters: ['float', 'float'],
    returns: 'uint',
    compute: (latitude, longitude) => cellAt(latitude as number, longitude as number),
  },
  {
    name: 'almanac_s2_cell_to_token',
    parameters: ['uint'],
    returns: 'text',
    compute: (cell) => cellOf(cell).toToken(),
  },
  {
    name: 'almanac_s2_cell_level',
    parameters: ['uint'],
    returns: 'int',
    compute: (cell) => BigInt(cellOf(cell).level()),
  },
  {
    name: 'almanac_s2_cell_parent',
    parameters: ['uint', 'int'],
    returns: 'uint',
    compute: (cell, level) => parentOf(cell, Number(level)),
  },
];

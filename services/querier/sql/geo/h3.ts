import type * as h3Library from 'h3-js';

import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

type Library = typeof h3Library;

/** Longest list of cells that one value may have. */
const CELLS_MAX = 100_000;

/** Decimal numbers of cells have at least this many digits, hexadecimal ones fewer. */
const DECIMAL_DIGITS_MIN = 17;

let loaded: Library | undefined;

/** Loads the library of H3, which only queries that use it need: 12 ms and 5 MB. */
export async function loadH3(): Promise<void> {
  loaded ??= await import('h3-js');
}

/** Runs a function of the library. @throws `execute_query` with the library's reason. */
function h3<T>(run: (library: Library) => T): T {
  if (loaded === undefined) throw new AlmanacError('execute_query', 'H3 is not loaded');
  try {
    return run(loaded);
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    const reason = (error as Error).message.replace(/ \(code: \d+.*$/, '');
    throw new AlmanacError('execute_query', `H3 error: ${reason}`, { cause: error });
  }
}

/** Returns the library's name of a cell, which is given as decimal number or by its name. @throws `execute_query`. */
function cellOf(text: string): string {
  const isDecimal = text.length >= DECIMAL_DIGITS_MIN && /^\d+$/.test(text);
  const cell = isDecimal ? BigInt(text).toString(16) : text.toLowerCase();
  if (!h3(({ isValidCell }) => isValidCell(cell))) {
    throw new AlmanacError('execute_query', `H3 error: invalid cell index '${text.slice(0, 40)}'`);
  }
  return cell;
}

const numberOf = (cell: string): bigint => BigInt(`0x${cell}`);

function pointOf(latitude: unknown, longitude: unknown): [number, number] {
  const [lat, lng] = [latitude as number, longitude as number];
  if (Math.abs(lat) <= 90 && Math.abs(lng) <= 180) return [lat, lng];
  throw new AlmanacError('execute_query', `H3 error: latitude ${lat} and longitude ${lng} are no point`);
}

function checkCount(count: number): void {
  if (count <= CELLS_MAX) return;
  throw new AlmanacError('execute_query', `H3 error: the result has ${count} cells, at most ${CELLS_MAX} are allowed`);
}

function disk(cell: string, radius: number): string[] {
  checkCount(3 * radius * (radius + 1) + 1);
  return h3(({ gridDiskDistances }) => gridDiskDistances(cellOf(cell), radius)).flat();
}

function children(cell: string, resolution: number): string[] {
  checkCount(h3(({ cellToChildrenSize }) => cellToChildrenSize(cellOf(cell), resolution)));
  return h3(({ cellToChildren }) => cellToChildren(cellOf(cell), resolution));
}

function distance(from: string, to: string): number {
  return h3(({ gridDistance }) => gridDistance(cellOf(from), cellOf(to)));
}

function path(from: string, to: string): string[] {
  checkCount(distance(from, to) + 1);
  return h3(({ gridPathCells }) => gridPathCells(cellOf(from), cellOf(to)));
}

function contains(list: string, cell: string): boolean {
  const inner = cellOf(cell);
  return h3(({ getResolution, cellToParent }) => {
    const resolution = getResolution(inner);
    const holds = (outer: string): boolean =>
      getResolution(outer) <= resolution && cellToParent(inner, getResolution(outer)) === outer;
    return list
      .split(/[^0-9A-Za-z]+/)
      .filter((text) => text !== '')
      .some((text) => holds(cellOf(text)));
  });
}

const centre = (cell: string): [number, number] => h3(({ cellToLatLng }) => cellToLatLng(cellOf(cell)));

function sphereDistance(from: string, to: string): number {
  return h3(({ greatCircleDistance }) => greatCircleDistance(centre(from), centre(to), 'km'));
}

function degrees(from: string, to: string): number {
  const [a, b] = [centre(from), centre(to)];
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

/** Parameters that are cells are texts: decimal numbers or names. */
export const H3_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_h3_latlng_to_cell',
    parameters: ['float', 'float', 'int'],
    returns: 'text',
    compute: (latitude, longitude, resolution) =>
      h3(({ latLngToCell }) => latLngToCell(...pointOf(latitude, longitude), Number(resolution))),
  },
  ofCell('number', 'uint', (cell) => numberOf(cellOf(cell))),
  ofCell('name', 'text', (cell) => cellOf(cell)),
  ofCell('center_latlng', 'float[]', (cell) => centre(cell)),
  ofCell('resolution', 'int', (cell) => BigInt(h3(({ getResolution }) => getResolution(cellOf(cell))))),
  ofCell('base', 'int', (cell) => BigInt(h3(({ getBaseCellNumber }) => getBaseCellNumber(cellOf(cell))))),
  ofCell('is_pentagon', 'bool', (cell) => h3(({ isPentagon }) => isPentagon(cellOf(cell)))),
  ofCellAnd('parent', 'uint', (cell, n) => numberOf(h3(({ cellToParent }) => cellToParent(cellOf(cell), n)))),
  ofCellAnd('to_children', 'uint[]', (cell, n) => children(cell, n).map(numberOf)),
  ofCellAnd('to_children_size', 'uint', (cell, n) =>
    BigInt(h3(({ cellToChildrenSize }) => cellToChildrenSize(cellOf(cell), n))),
  ),
  ofCellAnd('to_child_pos', 'uint', (cell, n) => BigInt(h3(({ cellToChildPos }) => cellToChildPos(cellOf(cell), n)))),
  ofCellAnd('grid_disk', 'uint[]', (cell, n) => disk(cell, n).map(numberOf)),
  {
    name: 'almanac_h3_child_pos_to_cell',
    parameters: ['int', 'text', 'int'],
    returns: 'uint',
    compute: (position, cell, resolution) =>
      numberOf(
        h3(({ childPosToCell }) => childPosToCell(Number(position), cellOf(cell as string), Number(resolution))),
      ),
  },
  ofCells('grid_distance', 'int', (from, to) => BigInt(distance(from, to))),
  ofCells('grid_path_cells', 'uint[]', (from, to) => path(from, to).map(numberOf)),
  ofCells('distance_sphere_km', 'float', sphereDistance),
  ofCells('distance_degree', 'float', degrees),
  ofCells('cells_contains', 'bool', contains),
];

type Result = ReturnType<RowFunction['compute']>;

function ofCell(name: string, returns: RowFunction['returns'], run: (cell: string) => Result): RowFunction {
  return { name: `almanac_h3_${name}`, parameters: ['text'], returns, compute: (cell) => run(cell as string) };
}

function ofCellAnd(
  name: string,
  returns: RowFunction['returns'],
  run: (cell: string, n: number) => Result,
): RowFunction {
  return {
    name: `almanac_h3_${name}`,
    parameters: ['text', 'int'],
    returns,
    compute: (cell, n) => run(cell as string, Number(n)),
  };
}

function ofCells(name: string, returns: RowFunction['returns'], run: (a: string, b: string) => Result): RowFunction {
  return {
    name: `almanac_h3_${name}`,
    parameters: ['text', 'text'],
    returns,
    compute: (a, b) => run(a as string, b as string),
  };
}

import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Longest text of a geometry: relating two of them takes time that no other request can use. */
const TEXT_MAX = 64 * 1024;

const EARTH_RADIUS_M = 6_371_008.8;

/** What is used of the library's geometries, whose types are incomplete. */
interface Shape {
  getArea(): number;
  getGeometryType(): string;
  isEmpty(): boolean;
  getCoordinate(): { readonly x: number; readonly y: number };
}

interface Library {
  read(text: string): Shape;
  distance(a: Shape, b: Shape): number;
  relate(a: Shape, b: Shape): { isContains(): boolean; isWithin(): boolean; isIntersects(): boolean };
}

let loaded: Library | undefined;

/** Loads the library of geometries, which only queries that use it need. */
export async function loadShapes(): Promise<void> {
  if (loaded !== undefined) return;
  const [{ default: Reader }, { default: Distance }, { default: Relate }] = await Promise.all([
    import('jsts/org/locationtech/jts/io/WKTReader.js'),
    import('jsts/org/locationtech/jts/operation/distance/DistanceOp.js'),
    import('jsts/org/locationtech/jts/operation/relate/RelateOp.js'),
  ]);
  const create = Reader as unknown as new () => { read(text: string): Shape };
  const reader = new create();
  const relate = Relate as unknown as { relate: Library['relate'] };
  const distance = Distance as unknown as { distance: Library['distance'] };
  loaded = {
    read: (text) => reader.read(text),
    distance: (a, b) => distance.distance(a, b),
    relate: (a, b) => relate.relate(a, b),
  };
}

function library(): Library {
  if (loaded === undefined) throw new AlmanacError('execute_query', 'geometries are not loaded');
  return loaded;
}

/** Reads a geometry in Well-Known Text. @throws `execute_query`. */
function shapeOf(text: string): Shape {
  if (text.length > TEXT_MAX) {
    throw new AlmanacError(
      'execute_query',
      `a geometry has ${text.length} characters, at most ${TEXT_MAX} are allowed`,
    );
  }
  try {
    return library().read(text);
  } catch (error) {
    throw new AlmanacError(
      'execute_query',
      `Fail to parse WKT '${text.slice(0, 60)}': ${(error as Error).message.slice(0, 200)}`,
      { cause: error },
    );
  }
}

/** Length of the great circle between two points in metres, by the haversine formula. */
function sphereDistance(from: string, to: string): number {
  const points = [shapeOf(from), shapeOf(to)].map((shape) => {
    if (shape.getGeometryType() === 'Point' && !shape.isEmpty()) return shape.getCoordinate();
    throw new AlmanacError(
      'execute_query',
      'Great circle distance between non-point objects are not supported for now.',
    );
  });
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const [a, b] = points;
  const half =
    Math.sin(radians(b.y - a.y) / 2) ** 2 +
    Math.cos(radians(a.y)) * Math.cos(radians(b.y)) * Math.sin(radians(b.x - a.x) / 2) ** 2;
  return EARTH_RADIUS_M * 2 * Math.asin(Math.sqrt(half));
}

const ofTwo = (
  name: string,
  returns: RowFunction['returns'],
  run: (a: string, b: string) => number | boolean,
): RowFunction => ({
  name: `almanac_${name}`,
  parameters: ['text', 'text'],
  returns,
  compute: (a, b) => run(a as string, b as string),
});

/** Functions of geometries in Well-Known Text; units are those of their coordinates, if not stated otherwise. */
export const SHAPE_ROW_FUNCTIONS: readonly RowFunction[] = [
  ofTwo('st_distance', 'float', (a, b) => library().distance(shapeOf(a), shapeOf(b))),
  ofTwo('st_distance_sphere_m', 'float', sphereDistance),
  ofTwo('st_contains', 'bool', (a, b) => library().relate(shapeOf(a), shapeOf(b)).isContains()),
  ofTwo('st_within', 'bool', (a, b) => library().relate(shapeOf(a), shapeOf(b)).isWithin()),
  ofTwo('st_intersects', 'bool', (a, b) => library().relate(shapeOf(a), shapeOf(b)).isIntersects()),
  {
    name: 'almanac_st_area',
    parameters: ['text'],
    returns: 'float',
    compute: (shape) => shapeOf(shape as string).getArea(),
  },
];

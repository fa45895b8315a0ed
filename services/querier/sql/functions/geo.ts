import { call, cast, copy, type Ast } from '../syntax/ast.js';
import { loadShapes } from '../geo/shapes.js';
import { argumentsOf, type FunctionRule, type KnownType } from './function.js';

const ofPoint = (name: string): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [latitude, longitude, length] = argumentsOf(node, 3, 3);
    // A length out of the range of the type is an error of the cast.
    const result = call(
      `almanac_${name}`,
      cast(latitude, 'DOUBLE'),
      cast(longitude, 'DOUBLE'),
      cast(cast(length, 'UTINYINT'), 'BIGINT'),
    );
    return context.typed(result, name === 'geohash' ? 'text' : undefined);
  },
});

const point: FunctionRule = {
  names: ['wkt_point_from_latlng'],
  rewrite(node, context) {
    const [latitude, longitude] = argumentsOf(node, 2, 2);
    return context.typed(call('almanac_wkt_point', cast(latitude, 'DOUBLE'), cast(longitude, 'DOUBLE')), 'text');
  },
};

/** Aggregates the values of an expression in the order of time. */
function listByTime(node: Ast, values: Ast, time: Ast): Ast {
  const order = { type: 'ASCENDING', null_order: 'ORDER_DEFAULT', expression: time };
  return {
    ...copy(node),
    alias: '',
    function_name: 'list',
    children: [values],
    order_bys: { type: 'ORDER_MODIFIER', orders: [order] },
  };
}

/** `json_encode_path(lat, lon, ts)`: the points in the order of time. */
const encodedPath: FunctionRule = {
  names: ['json_encode_path'],
  rewrite(node, context) {
    const [latitude, longitude, time] = argumentsOf(node, 3, 3);
    const points = call('list_value', cast(longitude, 'DOUBLE'), cast(latitude, 'DOUBLE'));
    return context.typed(cast(call('to_json', listByTime(node, points, time)), 'VARCHAR'), 'text');
  },
};

/** `geo_path(lat, lon, ts)`: the latitudes and the longitudes in the order of time. */
const path: FunctionRule = {
  names: ['geo_path'],
  rewrite(node) {
    const [latitude, longitude, time] = argumentsOf(node, 3, 3);
    const lists = {
      lat: listByTime(node, cast(latitude, 'DOUBLE'), time),
      lng: listByTime(node, cast(longitude, 'DOUBLE'), copy(time)),
    };
    return call('struct_pack', ...Object.entries(lists).map(([alias, list]) => ({ ...list, alias })));
  },
};

const ofShapes = (name: string, count: number, returns: KnownType): FunctionRule => ({
  names: [name],
  load: loadShapes,
  rewrite(node, context) {
    const given = argumentsOf(node, count, count).map((shape) => cast(shape, 'VARCHAR'));
    return context.typed(call(`almanac_${name}`, ...given), returns);
  },
});

/** Functions of points and geometries. */
export const GEO_FUNCTIONS: readonly FunctionRule[] = [
  ofPoint('geohash'),
  ofPoint('geohash_neighbours'),
  point,
  encodedPath,
  path,
  ofShapes('st_area', 1, 'float'),
  ofShapes('st_distance', 2, 'float'),
  ofShapes('st_distance_sphere_m', 2, 'float'),
  ofShapes('st_contains', 2, 'bool'),
  ofShapes('st_within', 2, 'bool'),
  ofShapes('st_intersects', 2, 'bool'),
];

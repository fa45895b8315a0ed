import { call, cast, copy, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule } from './function.js';

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

/** `json_encode_path(lat, lon, ts)`: the points in the order of time. */
const path: FunctionRule = {
  names: ['json_encode_path'],
  rewrite(node, context) {
    const [latitude, longitude, time] = argumentsOf(node, 3, 3);
    const points = call('list_value', cast(longitude, 'DOUBLE'), cast(latitude, 'DOUBLE'));
    const order = { type: 'ASCENDING', null_order: 'ORDER_DEFAULT', expression: time };
    const list: Ast = {
      ...copy(node),
      alias: '',
      function_name: 'list',
      children: [points],
      order_bys: { type: 'ORDER_MODIFIER', orders: [order] },
    };
    return context.typed(cast(call('to_json', list), 'VARCHAR'), 'text');
  },
};

/** Functions of points. */
export const GEO_FUNCTIONS: readonly FunctionRule[] = [ofPoint('geohash'), ofPoint('geohash_neighbours'), point, path];

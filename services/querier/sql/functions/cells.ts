import { call, cast, type Ast } from '../syntax/ast.js';
import { loadH3 } from '../geo/h3.js';
import { loadS2 } from '../geo/s2.js';
import { argumentsOf, type FunctionRule, type KnownType } from './function.js';

/** Converts an argument to the type that the engine's function has; values out of its range are an error. */
const ARGUMENTS = {
  degrees: (node: Ast) => cast(node, 'DOUBLE'),
  /** A cell of H3: a number, or its name. */
  cell: (node: Ast) => cast(node, 'VARCHAR'),
  number: (node: Ast) => cast(node, 'UBIGINT'),
  whole: (node: Ast) => cast(node, 'BIGINT'),
  small: (node: Ast) => cast(cast(node, 'UTINYINT'), 'BIGINT'),
  count: (node: Ast) => cast(cast(node, 'UINTEGER'), 'BIGINT'),
} as const;

type Argument = keyof typeof ARGUMENTS;

/** @param run builds the call from the converted arguments. */
function rule(
  name: string,
  types: readonly Argument[],
  load: () => Promise<void>,
  returns: KnownType | undefined,
  run: (given: Ast[]) => Ast = (given) => call(`almanac_${name}`, ...given),
): FunctionRule {
  return {
    names: [name],
    load,
    rewrite(node, context) {
      const given = argumentsOf(node, types.length, types.length).map((argument, i) => ARGUMENTS[types[i]](argument));
      return context.typed(run(given), returns);
    },
  };
}

const h3 = (name: string, types: readonly Argument[], returns?: KnownType, run?: (given: Ast[]) => Ast): FunctionRule =>
  rule(`h3_${name}`, types, loadH3, returns, run);

const s2 = (name: string, types: readonly Argument[], returns: KnownType): FunctionRule =>
  rule(`s2_${name}`, types, loadS2, returns);

const number = (given: Ast[]): Ast => call('almanac_h3_number', ...given);
const cellAt = (given: Ast[]): Ast => call('almanac_h3_latlng_to_cell', ...given);

/** Functions of cells that cover the earth: H3, S2. */
export const CELL_FUNCTIONS: readonly FunctionRule[] = [
  h3('latlng_to_cell', ['degrees', 'degrees', 'small'], 'int', (given) => number([cellAt(given)])),
  h3('latlng_to_cell_string', ['degrees', 'degrees', 'small'], 'text', cellAt),
  h3('cell_to_string', ['cell'], 'text', (given) => call('almanac_h3_name', ...given)),
  h3('string_to_cell', ['cell'], 'int', number),
  h3('cell_center_latlng', ['cell'], undefined, (given) => call('almanac_h3_center_latlng', ...given)),
  h3('cell_resolution', ['cell'], 'int', (given) => cast(call('almanac_h3_resolution', ...given), 'UTINYINT')),
  h3('cell_base', ['cell'], 'int', (given) => cast(call('almanac_h3_base', ...given), 'UTINYINT')),
  h3('cell_is_pentagon', ['cell'], 'bool', (given) => call('almanac_h3_is_pentagon', ...given)),
  h3('cell_parent', ['cell', 'small'], 'int', (given) => call('almanac_h3_parent', ...given)),
  h3('cell_to_children', ['cell', 'small'], undefined, (given) => call('almanac_h3_to_children', ...given)),
  h3('cell_to_children_size', ['cell', 'small'], 'int', (given) => call('almanac_h3_to_children_size', ...given)),
  h3('cell_to_child_pos', ['cell', 'small'], 'int', (given) => call('almanac_h3_to_child_pos', ...given)),
  h3('child_pos_to_cell', ['whole', 'cell', 'small'], 'int'),
  h3('grid_disk', ['cell', 'count']),
  h3('grid_disk_distances', ['cell', 'count'], undefined, (given) => call('almanac_h3_grid_disk', ...given)),
  h3('grid_distance', ['cell', 'cell'], 'int', (given) => cast(call('almanac_h3_grid_distance', ...given), 'INTEGER')),
  h3('grid_path_cells', ['cell', 'cell']),
  h3('cells_contains', ['cell', 'cell'], 'bool'),
  h3('distance_sphere_km', ['cell', 'cell'], 'float'),
  h3('distance_degree', ['cell', 'cell'], 'float'),
  s2('latlng_to_cell', ['degrees', 'degrees'], 'int'),
  s2('cell_to_token', ['number'], 'text'),
  s2('cell_level', ['number'], 'int'),
  s2('cell_parent', ['number', 'small'], 'int'),
];

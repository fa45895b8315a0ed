import type { DuckDBConnection } from '#shared/duckdb/engine';
import { registerRowFunctions } from '#shared/duckdb/row-functions';

import { H3_ROW_FUNCTIONS } from '../geo/h3.js';
import { GEO_ROW_FUNCTIONS } from '../geo/row-functions.js';
import { S2_ROW_FUNCTIONS } from '../geo/s2.js';
import { SHAPE_ROW_FUNCTIONS } from '../geo/shapes.js';
import { IP_ROW_FUNCTIONS } from '../ip/row-functions.js';
import { JSON_ROW_FUNCTIONS } from '../json/row-functions.js';
import { SKETCH_ROW_FUNCTIONS } from '../sketches/row-functions.js';
import { VECTOR_ROW_FUNCTIONS } from '../vectors/row-functions.js';
import { MACRO_STATEMENTS } from './macros.js';
import { TEXT_ROW_FUNCTIONS } from './row-functions.js';

/** Creates the functions that rewritten queries call, for all connections of an instance. */
export async function installFunctions(connection: DuckDBConnection): Promise<void> {
  registerRowFunctions(connection, [
    ...GEO_ROW_FUNCTIONS,
    ...H3_ROW_FUNCTIONS,
    ...IP_ROW_FUNCTIONS,
    ...JSON_ROW_FUNCTIONS,
    ...S2_ROW_FUNCTIONS,
    ...SHAPE_ROW_FUNCTIONS,
    ...SKETCH_ROW_FUNCTIONS,
    ...TEXT_ROW_FUNCTIONS,
    ...VECTOR_ROW_FUNCTIONS,
  ]);
  for (const statement of MACRO_STATEMENTS) await connection.run(statement);
}

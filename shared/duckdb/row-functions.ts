import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DOUBLE,
  DuckDBBlobValue,
  DuckDBScalarFunction,
  LIST,
  listValue,
  UBIGINT,
  VARCHAR,
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';

import { AlmanacError } from '#shared/errors/almanac-error';

import { cellReader, type Cell } from './chunk-reader.js';

/** Types of the parameters and results of row functions. */
export type RowFunctionType =
  'text' | 'int' | 'uint' | 'float' | 'bool' | 'binary' | 'text[]' | 'uint[]' | 'float[]' | 'binary[]';

/** A function of one row in JavaScript: 1 µs a row and more, so for what the engine's own functions cannot do. */
export interface RowFunction {
  readonly name: string;
  readonly parameters: readonly RowFunctionType[];
  readonly returns: RowFunctionType;
  /** Computes the result for arguments that are not NULL. @throws `AlmanacError`, whose message the query's error has. */
  readonly compute: (...cells: readonly NonNullable<Cell>[]) => Cell;
}

const TYPES: Readonly<Record<RowFunctionType, DuckDBType>> = {
  text: VARCHAR,
  int: BIGINT,
  uint: UBIGINT,
  float: DOUBLE,
  bool: BOOLEAN,
  binary: BLOB,
  'text[]': LIST(VARCHAR),
  'uint[]': LIST(UBIGINT),
  'float[]': LIST(DOUBLE),
  'binary[]': LIST(BLOB),
};

/** Creates the functions for all connections of an instance. */
export function registerRowFunctions(connection: DuckDBConnection, functions: readonly RowFunction[]): void {
  for (const definition of functions) {
    const { name, parameters, returns } = definition;
    const created = DuckDBScalarFunction.create({
      name,
      parameterTypes: parameters.map((type) => TYPES[type]),
      returnType: TYPES[returns],
      mainFunction: (info, input, output) => {
        try {
          const readers = parameters.map((_, i) => cellReader(input, i));
          for (let row = 0; row < input.rowCount; row++) {
            output.setItem(row, engineValue(resultOf(definition, readers, row)));
          }
          output.flush();
        } catch (error) {
          info.setError(AlmanacError.from(error).message);
        }
      },
    });
    connection.registerScalarFunction(created);
  }
}

function resultOf({ compute }: RowFunction, readers: readonly ((row: number) => Cell)[], row: number): Cell {
  const cells: NonNullable<Cell>[] = [];
  for (const read of readers) {
    const cell = read(row);
    if (cell === null) return null;
    cells.push(cell);
  }
  return compute(...cells);
}

function engineValue(cell: Cell): DuckDBValue {
  if (cell instanceof Uint8Array) return new DuckDBBlobValue(cell);
  return Array.isArray(cell) ? listValue(cell as DuckDBValue[]) : (cell as DuckDBValue);
}

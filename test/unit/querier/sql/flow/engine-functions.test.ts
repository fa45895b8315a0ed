import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';

import { ANY_AGGREGATES, NATIVE_FUNCTIONS, VOLATILE_FUNCTIONS } from '#services/querier/sql/functions/native';

interface EngineFunction {
  readonly name: string;
  readonly type: string;
  readonly stability: string;
  /** Expression of a macro. */
  readonly macro: string;
}

/** Returns the functions of the engine that users may call. */
async function engineFunctions(): Promise<EngineFunction[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(
      "SELECT DISTINCT function_name, function_type, coalesce(stability, ''), coalesce(macro_definition, '') FROM duckdb_functions()",
    );
    return reader.getRowsJson().map((row) => {
      const [name, type, stability, macro] = row as string[];
      return { name, type, stability, macro };
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Returns the functions with a property and the macros over them. */
function withMacros(functions: readonly EngineFunction[], has: (it: EngineFunction) => boolean): EngineFunction[] {
  const found = new Set(functions.filter(has).map(({ name }) => name));
  const calls = ({ macro }: EngineFunction): boolean => {
    return Array.from(macro.matchAll(/(\w+)"?\(/g), ([, name]) => name).some((name) => found.has(name));
  };
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const it of functions) if (it.type === 'macro' && calls(it)) found.add(it.name);
  }
  return functions.filter(({ name }) => found.has(name));
}

const UNSTABLE = new Set(['VOLATILE', 'CONSISTENT_WITHIN_QUERY']);

const called = (functions: readonly EngineFunction[]): string[] => {
  return [...new Set(functions.map(({ name }) => name))].filter((name) => NATIVE_FUNCTIONS.has(name)).sort();
};

describe('functions of the engine in flows', () => {
  it('are known as aggregates if they are', async () => {
    const functions = await engineFunctions();
    const aggregates = called(withMacros(functions, ({ type }) => type === 'aggregate'));
    expect(aggregates).to.include.members(['avg', 'wavg', 'geomean']);
    expect(aggregates.filter((name) => !ANY_AGGREGATES.has(name))).to.deep.equal([]);
  });

  it('are known as volatile if they are', async () => {
    const functions = await engineFunctions();
    const volatile = called(
      // The engine must not move "error", which has no value.
      withMacros(functions, ({ name, stability }) => name !== 'error' && UNSTABLE.has(stability)),
    );
    expect(volatile).to.include.members(['uuidv7', 'transaction_timestamp']);
    expect(volatile.filter((name) => !VOLATILE_FUNCTIONS.has(name))).to.deep.equal([]);
  });
});

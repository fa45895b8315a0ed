import { functionHelp, namelessHelp } from '../functions/help.js';
import { ANY_AGGREGATES, NATIVE_FUNCTIONS, TABLE_FUNCTIONS, WINDOW_FUNCTIONS } from '../functions/native.js';
import { OWN_FUNCTIONS } from '../functions/registry.js';
import { systemTable, type SystemRow, type SystemTable, type SystemTableSource } from './system-table.js';

/** A function as the engine describes it. */
interface EngineFunction {
  readonly name: string;
  readonly signature: string;
  readonly type: string | null;
  readonly help: string | null;
}

/** The overload with most arguments of each function of a list. Arguments without a name are shown by their type. */
const DESCRIBE = `
  WITH shown AS (
    SELECT function_name AS name, return_type AS type, description AS help, len(parameters) AS size,
      array_to_string(list_transform(list_zip(parameters, parameter_types), lambda pair:
        CASE WHEN regexp_matches(pair[1], '^col\\d+$') THEN lower(coalesce(pair[2], 'any')) ELSE pair[1] END
      ), ', ') || CASE WHEN varargs IS NULL THEN '' ELSE ', ..' END AS arguments
    FROM duckdb_functions()
    WHERE list_contains(json_extract_string($1::JSON, '$[*]'), function_name)
      AND function_type IN ('scalar', 'aggregate', 'macro', 'table')
  )
  SELECT to_json(list({name: name, signature: signature, type: type, help: help}))::VARCHAR FROM (
    SELECT name, '(' || arg_max(arguments, size) || ')' AS signature, max(type) AS type, max(help) AS help
    FROM shown GROUP BY name
  )`;

/** The table `information_schema.routines`: functions of SQL, with their arguments and a sentence. */
export function routineTables(): SystemTable[] {
  return [
    systemTable(
      'information_schema',
      'routines',
      'specific_name, routine_catalog, routine_schema, routine_name, routine_type, data_type String, ' +
        'created?, last_altered? TimestampSecond, sql_mode, routine_comment, definer, routine_definition, routine_kind String',
      routines,
    ),
  ];
}

async function* routines(source: SystemTableSource): AsyncIterable<SystemRow> {
  const natives = [...NATIVE_FUNCTIONS, ...TABLE_FUNCTIONS].filter(isName);
  const described = JSON.parse(await source.callText(DESCRIBE, JSON.stringify(natives))) as readonly EngineFunction[];
  const byName = new Map(described.map((it) => [it.name, it]));
  const names = new Set([...natives, ...[...OWN_FUNCTIONS.keys()].filter(isName)]);
  for (const name of [...names].sort()) {
    const engine = byName.get(name);
    const { signature = engine?.signature ?? '()', help = oneLine(engine?.help ?? namelessHelp(name)) } =
      functionHelp(name) ?? {};
    yield {
      specific_name: name,
      routine_catalog: source.catalogName,
      routine_schema: 'information_schema',
      routine_name: name,
      routine_type: 'FUNCTION',
      data_type: engine?.type ?? '',
      sql_mode: '',
      routine_comment: help,
      definer: '',
      routine_definition: name + signature,
      routine_kind: kindOf(name),
    };
  }
}

/** Operators have no names that are words. */
function isName(name: string): boolean {
  return /^[a-z]\w*$/.test(name);
}

function kindOf(name: string): string {
  if (WINDOW_FUNCTIONS.has(name)) return 'window';
  if (ANY_AGGREGATES.has(name)) return 'aggregate';
  return TABLE_FUNCTIONS.has(name) ? 'table' : 'scalar';
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

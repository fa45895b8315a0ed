import { processId } from '../../../run/process-directory.js';
import { outputTable, parseFilter } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

const COLUMNS = ['Id', 'Catalog', 'Query', 'Elapsed Time'];
const FULL_COLUMNS = [
  'Id',
  'Catalog',
  'Schema',
  'Client',
  'Frontend',
  'Start Time',
  'Elapsed Time',
  'Query',
  'Query Id',
  'Kind',
  'Rows',
  'Rows Scanned',
  'Bytes Scanned',
  'Memory Bytes',
  'Progress',
];
/** Types of the columns that are no texts. */
const TYPES: Readonly<Record<string, 'Int64' | 'Float64'>> = {
  ...{ Rows: 'Int64', 'Rows Scanned': 'Int64', 'Bytes Scanned': 'Int64', 'Memory Bytes': 'Int64' },
  Progress: 'Float64',
};

/** `SHOW [FULL] PROCESSLIST`. */
export const showProcesses: StatementKind = {
  name: 'SHOW PROCESSLIST',

  matches: (cursor) => cursor.sees('SHOW', 'PROCESSLIST') || cursor.sees('SHOW', 'FULL', 'PROCESSLIST'),

  parse(cursor) {
    cursor.expect('SHOW');
    const isFull = cursor.accept('FULL');
    cursor.expect('PROCESSLIST');
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const { deps, call, nowNs } = context;
        const { catalogName } = deps.names.systemSource();
        const nowMs = Number(nowNs / 1_000_000n);
        const rows = (await deps.processes.list(call)).map((process) => {
          const { addr, database, query, user, startedMs, queryId, kind } = process;
          const { rowsSent = null, rowsScanned = null, bytesScanned = null, memoryBytes = null } = process;
          const { progress = null } = process;
          const elapsed = elapsedText(Math.max(nowMs - startedMs, 0));
          const started = new Date(startedMs).toISOString().replace('Z', '');
          const id = processId(process);
          const figures = [rowsSent, rowsScanned, bytesScanned, memoryBytes, progress];
          return isFull
            ? [id, catalogName, database, user, addr, started, elapsed, query, queryId, kind, ...figures]
            : [id, catalogName, query, elapsed];
        });
        const columns = (isFull ? FULL_COLUMNS : COLUMNS).map((name) => ({ name, type: TYPES[name] ?? 'String' }));
        yield* outputTable(context, { columns, rows }, filter);
      },
    };
  },
};

/** Returns `01:02:03.004`. */
function elapsedText(ms: number): string {
  const part = (count: number, digits: number): string => String(Math.floor(count)).padStart(digits, '0');
  return `${part(ms / 3_600_000, 2)}:${part((ms / 60_000) % 60, 2)}:${part((ms / 1000) % 60, 2)}.${part(ms % 1000, 3)}`;
}

import type { LoggedPosition } from '#services/ingester/index';
import type { CatalogFile, CatalogRegion } from '#services/metadata/index';
import type { Clock } from '#shared/clock/clock';

import { CommandFailure, EXIT } from '../command.js';
import type { SqlConnection } from '../sql/connection.js';

/** Concurrent flush statements; the server runs two at a time. */
const FLUSHES_AT_ONCE = 2;
/** A batch that had not reached memory when a flush began needs another flush. */
const ROUNDS_MAX = 20;
const REST_MS = 100;

/** Options of `flushUpTo`. */
export interface FlushOptions {
  /** Catalog of the instance, which the server is using. */
  readonly catalog: CatalogFile;
  /** Log position by region up to which rows must be in segments. */
  readonly positions: ReadonlyMap<number, LoggedPosition>;
  readonly connection: SqlConnection;
  readonly clock: Clock;
}

/**
 * Makes the server flush until every region's watermark has reached its log position. Only tables that lack rows are
 * flushed: the others need not even be opened.
 *
 * @throws `CommandFailure` if the server cannot be reached, fails to flush, or uses another catalog.
 */
export async function flushUpTo({ catalog, positions, connection, clock }: FlushOptions): Promise<void> {
  for (let round = 0; ; round++) {
    const lacking = catalog.regions().filter((region) => isBehind(region, positions.get(region.regionId)));
    if (lacking.length === 0) return;
    if (round === ROUNDS_MAX) throw notFlushed(lacking[0], connection.host);
    if (round > 0) await clock.sleep(REST_MS);
    const failure = await flushTables(lacking, connection);
    // A table that was dropped meanwhile needs no flush, whatever the server replied.
    if (failure !== undefined && isThere(failure.region, catalog)) throw failure.error;
  }
}

/** Returns whether rows are missing. A grant that was closed meanwhile was closed after its last row, or abandoned by an operator. */
export function isBehind({ epoch, watermark }: CatalogRegion, position: LoggedPosition | undefined): boolean {
  if (position === undefined || position.epoch < epoch) return false;
  return position.epoch > epoch || position.sequence > watermark;
}

interface Failure {
  readonly region: CatalogRegion;
  readonly error: unknown;
}

/** Flushes the tables of the regions. @returns the first failure, if there is any. */
async function flushTables(regions: readonly CatalogRegion[], connection: SqlConnection): Promise<Failure | undefined> {
  const waiting = [...new Map(regions.map((region) => [nameOf(region), region])).values()];
  let failure: Failure | undefined;
  const worker = async (): Promise<void> => {
    for (let region = waiting.pop(); region !== undefined; region = waiting.pop()) {
      try {
        await connection.run(`ADMIN flush_table('${nameOf(region).replaceAll("'", "''")}')`, NEVER);
      } catch (error) {
        failure ??= { region, error };
      }
    }
  };
  await Promise.all(Array.from({ length: FLUSHES_AT_ONCE }, worker));
  return failure;
}

/** The connection has a timeout of its own. */
const NEVER = new AbortController().signal;

function isThere({ regionId }: CatalogRegion, catalog: CatalogFile): boolean {
  return catalog.regions().some((region) => region.regionId === regionId);
}

/** `"public"."cpu"` */
function nameOf({ database, table }: CatalogRegion): string {
  return [database, table].map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
}

function notFlushed(region: CatalogRegion, host: string): CommandFailure {
  const text =
    `error: ${nameOf(region)} has rows in the log that do not become segments: ` +
    `is ${host} the server of this data folder (--host)?`;
  return new CommandFailure(EXIT.failed, text);
}

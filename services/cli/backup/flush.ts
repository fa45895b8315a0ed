import type { LoggedPosition } from '#services/ingester/index';
import type { CatalogFile, CatalogRegion } from '#services/metadata/index';
import type { Clock } from '#shared/clock/clock';

import { CommandFailure, EXIT } from '../command.js';
import type { Connection } from '../sql/connection.js';

/** Flushes that the server is asked for at once; it runs two. */
const FLUSHES_AT_ONCE = 2;
/** A batch that was on its way to the memory when a flush began needs another one. */
const ROUNDS_MAX = 20;
const REST_MS = 100;

export interface FlushOptions {
  /** Of the instance, which a server is using. */
  readonly catalog: CatalogFile;
  /** How far rows go that must be in segments. */
  readonly positions: ReadonlyMap<number, LoggedPosition>;
  readonly connection: Connection;
  readonly clock: Clock;
}

/**
 * Has the server bring rows into segments until every region's watermark is at or behind its position. Only tables that
 * lack something are flushed: the others need not even be opened.
 *
 * @throws `CommandFailure` if the server cannot be reached, fails to flush, or is not the one of this catalog.
 */
export async function flushUpTo({ catalog, positions, connection, clock }: FlushOptions): Promise<void> {
  for (let round = 0; ; round++) {
    const lacking = catalog.regions().filter((region) => isBehind(region, positions.get(region.regionId)));
    if (lacking.length === 0) return;
    if (round === ROUNDS_MAX) throw notFlushed(lacking[0], connection.host);
    if (round > 0) await clock.sleep(REST_MS);
    const failure = await flushTables(lacking, connection);
    // A table that was dropped meanwhile needs no flush, whatever the server said.
    if (failure !== undefined && isThere(failure.region, catalog)) throw failure.error;
  }
}

/** A grant that was closed meanwhile was closed behind its last row, or given up by an operator. */
export function isBehind({ epoch, watermark }: CatalogRegion, position: LoggedPosition | undefined): boolean {
  if (position === undefined || position.epoch < epoch) return false;
  return position.epoch > epoch || position.sequence > watermark;
}

interface Failure {
  readonly region: CatalogRegion;
  readonly error: unknown;
}

/** @returns the first failure, if there is any. */
async function flushTables(regions: readonly CatalogRegion[], connection: Connection): Promise<Failure | undefined> {
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

/** The connection has a time limit of its own. */
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

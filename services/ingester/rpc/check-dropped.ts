import type { Call } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Concurrent metadata calls for one request; a database may have thousands of tables. */
const CHECKS_AT_ONCE = 32;

/**
 * Drops tables after metadata confirms that they are gone. The caller may have mistaken this process for one that had
 * its address before, even in another cluster whose tables have the same ids.
 *
 * @throws `region_not_ready` if one of the tables still exists.
 */
export async function dropChecked(
  tableIds: readonly number[],
  metadata: Pick<MetadataService, 'getTable'>,
  call: Call,
  drop: (tableId: number) => void,
): Promise<void> {
  const left = [...new Set(tableIds)];
  const work = async (): Promise<void> => {
    for (let tableId = left.pop(); tableId !== undefined; tableId = left.pop()) {
      await checkDropped(metadata, tableId, call);
      drop(tableId);
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, work));
}

async function checkDropped(metadata: Pick<MetadataService, 'getTable'>, tableId: number, call: Call): Promise<void> {
  const found = await metadata.getTable({ database: '', name: '', tableId }, call).catch((error: unknown) => {
    if (error instanceof AlmanacError && error.code === 'table_not_found') return undefined;
    throw error;
  });
  if (found === undefined) return;
  const text = `table ${tableId} ("${found.name}") still exists: the caller mistook this process for another one`;
  throw new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 });
}

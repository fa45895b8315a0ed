import type { Call } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Questions to metadata of one call; a database may have thousands of tables. */
const CHECKS_AT_ONCE = 32;

/**
 * Lets go of the tables. Rows are let go of only on metadata's word: a caller may hold this process for another one that had its address before,
 * one of another cluster too, whose tables have the same ids.
 *
 * @throws `region_not_ready` if metadata has one of them.
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
  const text = `table ${tableId} ("${found.name}") was not dropped: the caller took this process for another one`;
  throw new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 });
}

import type { Call } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Rows are let go of only on metadata's word: a caller may hold this process for another one that had its address before,
 * one of another cluster too, whose tables have the same ids.
 *
 * @throws `region_not_ready` if metadata has the table.
 */
export async function checkDropped(
  metadata: Pick<MetadataService, 'getTable'>,
  tableId: number,
  call: Call,
): Promise<void> {
  const found = await metadata.getTable({ database: '', name: '', tableId }, call).catch((error: unknown) => {
    if (error instanceof AlmanacError && error.code === 'table_not_found') return undefined;
    throw error;
  });
  if (found === undefined) return;
  const text = `table ${tableId} ("${found.name}") was not dropped: the caller took this process for another one`;
  throw new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 });
}

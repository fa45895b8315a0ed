import type { IngesterService, ScanChunk, WriteRequest } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';

function unsupported(): never {
  throw new AlmanacError('unsupported', 'not part of this test');
}

/** The service with the methods that a test needs. */
export function partialIngester(methods: Partial<IngesterService>): IngesterService {
  return {
    write: unsupported,
    scan: unsupported,
    flushTable: unsupported,
    compactTable: unsupported,
    truncateTable: unsupported,
    dropTables: unsupported,
    regionStates: unsupported,
    fenceFlow: unsupported,
    ...methods,
  };
}

export function writeRequest(batch: Uint8Array): WriteRequest {
  const numbers = { tableId: 1, regionId: 2, epoch: 3, schemaVersion: 4 };
  return { ...numbers, batchId: new Uint8Array(16), batch, definitions: new Uint8Array(0), asOf: 0n };
}

export const SCAN = { tableId: 1, regions: [] };

/** A chunk of a scan that says which it is. */
export function scanChunk(seriesFrom: number, bytes = 0): ScanChunk {
  const part = { regionId: 1, batches: [], seriesFrom, seriesTo: 0, complete: false, sequenceTo: 0n };
  return { parts: [{ ...part, definitions: new Uint8Array(bytes) }], incarnation: 0n };
}

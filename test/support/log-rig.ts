import { encodeRecord, type LogRecord } from '#services/ingester/wal/record';
import { replayWal } from '#services/ingester/wal/replay';
import type { Wal, WalOptions } from '#services/ingester/wal/wal';
import type { WalFile } from '#services/ingester/wal/wal-files';
import { systemClock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';

import { KeptLog } from './quiet-log.js';

/** The region of all records. */
export const REGION = 7;
/** Bytes of a record's batch, unless others are given. */
export const BATCH: Uint8Array = new Uint8Array(64).fill(0xab);

/** A write-ahead log in a folder, with records for one region. */
export class LogRig {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  options(overrides: Partial<WalOptions> = {}): WalOptions {
    return {
      folder: this.folder,
      fs: nodeFileSystem,
      clock: systemClock,
      sync: 'group',
      fileBytesMax: 1 << 20,
      onBroken: () => undefined,
      ...overrides,
    };
  }

  /** Appends a record of `rows` rows after `sequenceFrom`. */
  append(wal: Wal, sequenceFrom: bigint, rows = 1, batch = BATCH): Promise<void> {
    const batchId = new Uint8Array(16).fill(Number(sequenceFrom & 0xffn));
    const ids = { batchId, tableId: 1, regionId: REGION, epoch: 1, schemaVersion: 3 };
    const parts = encodeRecord({ ...ids, sequenceFrom, rowCount: rows, firstSid: 5 }, new Uint8Array([1, 2, 3]), batch);
    return new Promise((resolve, reject) => {
      const sequenceTo = sequenceFrom + BigInt(rows);
      wal.append({ regionId: REGION, sequenceTo, parts, onDurable: resolve, onFailed: reject });
    });
  }

  async replay(
    recover: 'strict' | 'skip-corrupt' = 'strict',
  ): Promise<{ records: LogRecord[]; files: WalFile[]; log: KeptLog }> {
    const log = new KeptLog();
    const records: LogRecord[] = [];
    const files = await replayWal({
      folder: this.folder,
      fs: nodeFileSystem,
      log,
      recover,
      onRecord: (record) =>
        void records.push({ ...record, batch: record.batch.slice(), definitions: record.definitions.slice() }),
      onProgress: () => undefined,
    });
    return { records, files, log };
  }

  /** Returns the path of the file that a log writes to. */
  fileOf(wal: Wal): string {
    return wal.files[wal.files.length - 1].path;
  }
}

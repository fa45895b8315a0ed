import type { Clock } from '#shared/clock/clock';
import type { FileSystem } from '#shared/fs/file-system';
import type { Logger } from '#shared/telemetry/log';

export interface LogFailureOptions {
  readonly log: Logger;
  readonly fs: FileSystem;
  readonly clock: Clock;
  /** Of the log. */
  readonly folder: string;
  readonly process: Pick<NodeJS.Process, 'exit'>;
}

/** How often a full disk is asked whether it takes writes again. */
const PROBE_MS = 2_000;
/** Enough for a start, which makes a log file and writes to the catalog. */
const PROBE_BYTES = 8 << 20;

/** What a process does whose write-ahead log fails; the next start recovers what was acknowledged. */
export function logFailure(options: LogFailureOptions): {
  readonly onFatal: (error: unknown) => void;
  readonly onFull: (error: unknown) => void;
} {
  const { log, process } = options;
  return {
    onFatal(error) {
      // What reached the disk is unknown until it is read back, so no other answer may be given.
      log.error({ error }, 'the write-ahead log failed: the process ends');
      process.exit(1);
    },
    onFull(error) {
      const text = 'no space is left for the write-ahead log: writes are refused, and queries answered, until there is';
      log.error({ error, folder: options.folder }, text);
      void untilWritable(options).then(() => {
        log.error(
          {},
          'the write-ahead log has space again: the process ends, to begin anew with what was acknowledged',
        );
        process.exit(1);
      });
    },
  };
}

async function untilWritable(options: LogFailureOptions): Promise<void> {
  do await options.clock.sleep(PROBE_MS);
  while (!(await isWritable(options)));
}

async function isWritable({ fs, folder }: LogFailureOptions): Promise<boolean> {
  const path = `${folder}/space.probe`;
  try {
    const file = await fs.open(path, 'append');
    try {
      await file.append([new Uint8Array(PROBE_BYTES)]);
      await file.syncData();
      return true;
    } finally {
      await file.close();
      await fs.remove(path);
    }
  } catch {
    // Still full, or something else that a start would tell.
    return false;
  }
}

import type { Logger } from '#shared/telemetry/log';

/** Returns what a process does when its write-ahead log fails for another reason than missing space: it exits. */
export function exitOnLogFailure(log: Logger, process: Pick<NodeJS.Process, 'exit'>): (error: unknown) => void {
  return (error) => {
    // Which rows reached the disk is unknown until the log is read back, so no other answer may be given.
    log.error({ error }, 'write-ahead log failed: exiting, the next start recovers all acknowledged rows');
    process.exit(1);
  };
}

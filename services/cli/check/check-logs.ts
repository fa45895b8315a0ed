import { inspectSlots, type LogFacts } from '#services/ingester/index';
import type { CatalogCopy } from '#services/metadata/index';
import type { FileSystem } from '#shared/fs/file-system';

import type { Report } from './report.js';

/** Which logs to check. */
export interface LogsToCheck {
  readonly dataFolder: string;
  readonly walDir: string | undefined;
  readonly fs: FileSystem;
}

/** Reads the logs of all slots. @returns the contents of logs without problems. */
export async function checkLogs(logs: LogsToCheck, report: Report): Promise<LogFacts[]> {
  const intact: LogFacts[] = [];
  for await (const facts of inspectSlots(logs)) {
    for (const problem of facts.problems) report.problem(problem);
    for (const note of facts.notes) report.note(note);
    report.log.files += facts.files;
    report.log.records += facts.records;
    report.log.bytes += facts.bytes;
    if (facts.problems.length === 0) intact.push(facts);
  }
  return intact;
}

/**
 * Compares logs with a catalog that is not older: every row of an open grant must be in a segment, or in the log directly
 * after the preceding row.
 */
export function checkRuns({ folder, runs }: LogFacts, catalog: CatalogCopy, report: Report): void {
  const ends = new Map<number, bigint>();
  for (const { regionId, epoch, sequenceFrom, sequenceTo } of runs) {
    const region = catalog.region(regionId);
    if (region?.epoch !== epoch) continue;
    const end = ends.get(regionId) ?? region.watermark;
    if (sequenceFrom > end) {
      report.problem({
        path: folder,
        what: `continues at row ${sequenceFrom} of region ${regionId}, whose segments and log end at ${end}`,
        lost: `${sequenceFrom - end} rows of that region`,
        remedy: 'restore the log files that are missing',
      });
    }
    ends.set(regionId, sequenceTo > end ? sequenceTo : end);
  }
}

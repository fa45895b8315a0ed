import type { Problem } from '#shared/errors/problem';

import type { Report, ReportSink } from './report.js';

/** The format in which a check is printed. */
export interface CheckOutput extends ReportSink {
  /** Prints the summary. */
  end(dataFolder: string, report: Report): void;
}

/** Problems listed in the JSON object; all are counted. */
const LISTED_MAX = 10_000;

/** Opens an output in text or JSON. */
export function openOutput(stdout: NodeJS.WritableStream, isJson: boolean): CheckOutput {
  return isJson ? jsonOutput(stdout) : textOutput(stdout);
}

function textOutput(stdout: NodeJS.WritableStream): CheckOutput {
  const line = (text: string): void => void stdout.write(`${text}\n`);
  return {
    problem: ({ path, what, lost, remedy }) => line(`problem: "${path}" ${what}; lost: ${lost}; ${remedy}`),
    note: (text) => line(`note: ${text}`),
    end(_dataFolder, { segments, seriesFiles, log, orphans, problems }) {
      if (orphans.files > 0) {
        const text = `${orphans.files} files (${orphans.bytes} bytes) in the store belong to nothing`;
        line(`note: ${text}: a server deletes those older than storage.gc_grace soon after it first uses their table`);
      }
      const checked = `${segments.files} segments (${segments.rows} rows, ${segments.bytes} bytes)`;
      const logs = `${log.records} log records in ${log.files} files`;
      line(`checked ${checked}, ${seriesFiles.files} series files, ${logs}: ${problems} problems`);
    },
  };
}

function jsonOutput(stdout: NodeJS.WritableStream): CheckOutput {
  const listed: Problem[] = [];
  const notes: string[] = [];
  return {
    problem: (problem) => void (listed.length < LISTED_MAX && listed.push(problem)),
    note: (text) => void (notes.length < LISTED_MAX && notes.push(text)),
    end(dataFolder, { segments, seriesFiles, log, orphans, problems: problemCount }) {
      const answer = { dataFolder, problemCount, problems: listed, notes, segments, seriesFiles, log, orphans };
      stdout.write(`${JSON.stringify(answer)}\n`);
    },
  };
}

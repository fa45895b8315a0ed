import type { Clock } from '#shared/clock/clock';

/** Time between two looks of the line. */
const LOOK_MS = 100;

/** Counts files while a command works on them. */
export interface FileProgress {
  /** Adds files that the command will work on, if it knows them before. */
  expect(files: number): void;
  /** Counts a file that is done. */
  done(bytes: number): void;
  /** Removes the line; nothing is shown later. */
  end(): void;
}

/** Shows how far a command is, as one line of a terminal that changes; elsewhere it shows nothing. @param verb `copied`. */
export function fileProgress(stream: NodeJS.WriteStream, clock: Clock, verb: string): FileProgress {
  let [files, doneFiles, doneBytes, shownMs, width] = [0, 0, 0, Number.NEGATIVE_INFINITY, 0];
  const show = (text: string): void => {
    stream.write(`\r${text.padEnd(width)}`);
    width = text.length;
  };
  return {
    expect: (more) => (files += more),
    done(bytes) {
      doneFiles++;
      doneBytes += bytes;
      const nowMs = clock.monotonicMs();
      if (!stream.isTTY || nowMs - shownMs < LOOK_MS) return;
      shownMs = nowMs;
      const all = files === 0 ? '' : ` of ${files}`;
      show(`${doneFiles}${all} files ${verb}, ${(doneBytes / 1024 ** 2).toFixed(0)} MiB`);
    },
    end() {
      if (width === 0) return;
      show('');
      stream.write('\r');
      width = 0;
    },
  };
}

import type { FileSystem } from '#shared/fs/file-system';
import type { Problem } from '#shared/errors/problem';

import { AppliedIdsFile } from './region/applied-ids-file.js';
import { expectedLogFolder } from './find-log-folder.js';
import { LOG_ID_FILE, findLogProblem, slotsWithLogs } from './log-identity.js';
import { readIdentity } from './slots.js';
import { inspectLog, unreadableProblem, type LogFacts } from './wal/inspect.js';

/** Data folder whose ingester slots are inspected. */
export interface SlotsToInspect {
  readonly dataFolder: string;
  /** Where logs are, if not in the slots. */
  readonly walDir: string | undefined;
  readonly fs: FileSystem;
}

/** Reads the logs and small files of all slots, one after the other, even while ingesters use them. Changes nothing. */
export async function* inspectSlots({ dataFolder, walDir, fs }: SlotsToInspect): AsyncGenerator<LogFacts> {
  const problems: Problem[] = [];
  const folders = walDir === undefined ? [] : [walDir];
  for (const name of await fs.list(`${dataFolder}/slots`)) {
    if (!/^\d+$/.test(name)) continue;
    const slot = `${dataFolder}/slots/${name}`;
    if (walDir === undefined) folders.push(`${slot}/wal`);
    try {
      const identity = await readIdentity(slot, fs);
      if (walDir !== undefined && identity !== undefined) folders.push(`${walDir}/${identity}`);
    } catch {
      problems.push(ofIdentity(slot));
    }
  }
  problems.push(...(await problemsOfPlaces({ dataFolder, walDir, fs })));
  // A data folder that lost its slots must still be reported.
  if (folders.length === 0) folders.push(`${dataFolder}/slots`);
  for (const folder of folders) {
    const facts = await inspectLog(folder, fs);
    facts.problems.push(...problems.splice(0), ...(await problemsOfIds(folder, fs)));
    yield facts;
  }
}

/** Returns a problem for each log that is not where its slot should have it. */
async function problemsOfPlaces(place: SlotsToInspect): Promise<Problem[]> {
  const { dataFolder, fs } = place;
  const problems: Problem[] = [];
  for (const slot of await slotsWithLogs(dataFolder, fs)) {
    const walFolder = (await expectedLogFolder(slot, place)) ?? `${dataFolder}/slots`;
    const problem = await findLogProblem({ dataFolder, slot, walFolder, fs }).catch((error: unknown) => {
      return unreadableProblem(`${walFolder}/${LOG_ID_FILE}`, error);
    });
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

async function problemsOfIds(folder: string, fs: FileSystem): Promise<Problem[]> {
  try {
    await new AppliedIdsFile(folder, fs).load([]);
    return [];
  } catch {
    const problem = {
      path: `${folder}/applied.json`,
      what: 'cannot be read, or has an unknown format',
      lost: 'which batches were applied; the server does not start',
      remedy: 'restore it, or remove it: repeated batches may then duplicate rows of append tables',
    };
    return [problem];
  }
}

function ofIdentity(slot: string): Problem {
  return {
    path: `${slot}/slot.json`,
    what: 'cannot be read, or contains no identity',
    lost: 'the identity of the ingester in this slot; it does not start',
    remedy: 'write {"identity":".."} into it, as the column "slot" of the catalog\'s table "nodes" has it',
  };
}

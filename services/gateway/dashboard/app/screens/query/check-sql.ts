import { signal } from '@preact/signals';

import { isAbort, request, requestJson, RequestError } from '../../core/http.js';
import { database } from '../../data/sql.js';
import type { EditorFault } from '../../widgets/editor.js';
import { textOffset } from './text-offset.js';

/** Time without a key after which the text is checked. */
const PAUSE_MS = 500;

/** Faults of the text as it was last checked; undefined if it was not, since the last run. */
export const checkedFaults = signal<readonly EditorFault[] | undefined>(undefined);

let timer: ReturnType<typeof setTimeout> | undefined;
let checking: AbortController | undefined;

/** Checks SQL on the server when no key was pressed for a while. A newer text ends the check of the last one. */
export function checkLater(text: string): void {
  stopCheck();
  timer = setTimeout(() => void check(text), PAUSE_MS);
}

/** Ends a check that waits or runs. What was found stays. */
export function stopCheck(): void {
  clearTimeout(timer);
  checking?.abort();
}

/** Ends a check, and removes the marks of the last one. */
export function forgetCheck(): void {
  stopCheck();
  checkedFaults.value = undefined;
}

/** Lets the server lay out SQL. Returns undefined, and marks the place, if it cannot be read. */
export async function formattedSql(text: string): Promise<string | undefined> {
  stopCheck();
  try {
    const form = { sql: text, db: database() };
    return (await requestJson<{ readonly formatted: string }>('v1/sql/format', { form })).formatted;
  } catch (error) {
    checkedFaults.value = faultsOf(error, text);
    return undefined;
  }
}

async function check(text: string): Promise<void> {
  const own = new AbortController();
  checking = own;
  if (text.trim() === '') {
    checkedFaults.value = [];
    return;
  }
  try {
    const response = await request('v1/sql/parse', { form: { sql: text, db: database() }, signal: own.signal });
    await response.body?.cancel();
    if (!own.signal.aborted) checkedFaults.value = [];
  } catch (error) {
    // Without a place, the run says what is wrong.
    if (!isAbort(error) && !own.signal.aborted) {
      checkedFaults.value = faultsOf(error, text).filter(({ to }) => to > 0);
    }
  }
}

function faultsOf(error: unknown, text: string): EditorFault[] {
  const message = error instanceof Error ? error.message : String(error);
  const position = error instanceof RequestError ? error.position : undefined;
  const from = position === undefined ? undefined : textOffset(text, position);
  if (from === undefined) return [{ from: 0, to: 0, message }];
  return [{ from, to: Math.min(text.length, from + (position?.length ?? 1)), message }];
}

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { loadRunningQueries } from '../../data/running-queries.js';
import { counted } from '../../format/counted.js';
import { bytesText } from '../../format/numbers.js';
import { usePolled } from '../../widgets/use-polled.js';

/** Most queries have ended before, and the list of what runs is a request of its own. */
const AFTER_MS = 5000;
const EVERY_MS = 1000;

/** Shows what a query has read so far, once it has run for a while. */
export function RunProgress({ queryId, startedMs }: { readonly queryId: string; readonly startedMs: number }) {
  const isLong = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (isLong.value = true), startedMs + AFTER_MS - Date.now());
    return () => clearTimeout(timer);
  }, []);
  return isLong.value ? <ReadSoFar queryId={queryId} /> : null;
}

function ReadSoFar({ queryId }: { readonly queryId: string }) {
  const { value } = usePolled(loadRunningQueries, [], EVERY_MS);
  // A request may have several parts, and the last one is what it waits for.
  const query = value?.findLast(({ id }) => id === queryId);
  if (query === undefined) return null;
  const { kind, progress, rows_scanned: rows, bytes_scanned: bytes } = query;
  // Samples in memory are not counted.
  const rowsText = rows === null || rows === 0 ? '' : counted(rows, kind === 'promql' ? 'sample' : 'row');
  const read = [rowsText, bytes === null ? '' : bytesText(bytes, 3)].filter(Boolean);
  return (
    <div class="row run-progress">
      {progress === null ? null : (
        <>
          <progress aria-label="Progress of the query" value={progress} />
          <span>{Math.floor(progress * 100)} %</span>
        </>
      )}
      {read.length > 0 && <span>Read: {read.join(', ')}</span>}
    </div>
  );
}

import { useSignal } from '@preact/signals';

import { bodyParts, messageOf, request, requestJson } from '../../core/http.js';
import { BASE_PATH } from '../../core/origin.js';
import { bytesText } from '../../format/numbers.js';
import { database } from '../../data/sql.js';
import { zone } from '../../time/zones.js';
import { saveFile, saveLink } from '../../widgets/save-file.js';

const FORMATS = [
  { title: 'CSV', format: 'csvWithNames', type: 'text/csv', ending: 'csv' },
  { title: 'JSON', format: 'json', type: 'application/json', ending: 'json' },
  { title: 'Arrow', format: 'arrow', type: 'application/vnd.apache.arrow.stream', ending: 'arrows' },
] as const;
/** A larger file needs a program that writes to the disk as it reads. */
const BYTES_MAX = 256 * 1024 * 1024;
/** Results from this size on are saved by the browser as they arrive, if the statement fits into a URL. */
const LINK_ROWS_MIN = 100_000;
const PATH_LENGTH_MAX = 4096;

/** Runs the statement again in another format, and saves what the server sends. */
export function ExportMenu({ statement, rowCount }: { readonly statement: string; readonly rowCount: number }) {
  const state = useSignal('');
  if (rowCount === 0) return null;
  const save = async ({ format, type, ending }: (typeof FORMATS)[number]): Promise<void> => {
    state.value = 'Downloading…';
    const parameters = new URLSearchParams({ format, db: database(), timezone: zone.value, sql: statement });
    const path = `/v1/sql?${parameters.toString()}`;
    try {
      if (rowCount >= LINK_ROWS_MIN && path.length <= PATH_LENGTH_MAX) {
        // A link cannot send credentials.
        const body = JSON.stringify({ path });
        const headers = { 'content-type': 'application/json' };
        const { url } = await requestJson<{ readonly url: string }>('v1/tickets', { body, headers });
        saveLink(`almanac.${ending}`, BASE_PATH + url.slice(1));
        state.value = '';
        return;
      }
      const response = await request('v1/sql', {
        parameters: { format, db: database() },
        body: statement,
        headers: { 'content-type': 'application/sql', 'x-almanac-timezone': zone.value },
      });
      const content = await readAll(response, type, (bytes) => (state.value = bytesText(bytes, 3)));
      saveFile(`almanac.${ending}`, content);
      state.value = '';
    } catch (error) {
      state.value = messageOf(error);
    }
  };
  return (
    <div class="row tight" role="group" aria-label="Download all rows">
      <span class="dim">Download</span>
      {FORMATS.map((format) => (
        <button key={format.ending} type="button" class="plain" onClick={() => void save(format)}>
          {format.title}
        </button>
      ))}
      <span role="status">{state}</span>
    </div>
  );
}

async function readAll(response: Response, type: string, onBytes: (count: number) => void): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let byteCount = 0;
  for await (const bytes of bodyParts(response)) {
    chunks.push(bytes);
    byteCount += bytes.length;
    onBytes(byteCount);
    if (byteCount > BYTES_MAX) {
      throw new Error(`The result is larger than ${bytesText(BYTES_MAX)}: use curl with the path /v1/sql.`);
    }
  }
  return new Blob(chunks, { type });
}

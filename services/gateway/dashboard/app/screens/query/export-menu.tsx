import { useSignal } from '@preact/signals';

import { bodyParts, messageOf, request } from '../../core/http.js';
import { bytesText } from '../../format/numbers.js';
import { database } from '../../data/sql.js';
import { zone } from '../../time/zones.js';
import { saveFile } from '../../widgets/save-file.js';

const FORMATS = [
  { title: 'CSV', format: 'csvWithNames', type: 'text/csv', ending: 'csv' },
  { title: 'JSON', format: 'json', type: 'application/json', ending: 'json' },
  { title: 'Arrow', format: 'arrow', type: 'application/vnd.apache.arrow.stream', ending: 'arrows' },
] as const;
/** A larger file needs a program that writes to the disk as it reads. */
const BYTES_MAX = 256 * 1024 * 1024;

/** Runs the statement again in another format, and saves what the server sends. */
export function ExportMenu({ statement, rowCount }: { readonly statement: string; readonly rowCount: number }) {
  const state = useSignal('');
  if (rowCount === 0) return null;
  const save = async ({ format, type, ending }: (typeof FORMATS)[number]): Promise<void> => {
    state.value = 'Downloading…';
    try {
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

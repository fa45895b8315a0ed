import './ingest.css';

import { parameter, setParameters } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { mayWrite } from '../../shell/available.js';
import { lazyComponent } from '../../widgets/lazy.js';
import { ItemForm } from './item-form.js';
import { LineForm } from './line-form.js';
import { SnippetList } from './snippet-list.js';

// Its parser is loaded when a file is to be read.
const CsvForm = lazyComponent(async () => (await import('./csv/csv-form.js')).CsvForm);

const KINDS = { snippets: 'From programs', lines: 'Line protocol', items: 'Text and JSON', csv: 'CSV file' } as const;

type IngestKind = keyof typeof KINDS;

/** Ways to write data: settings for the programs that send it, and fields to paste into. */
export function IngestScreen() {
  const linked = parameter('kind', 'snippets');
  const kind: IngestKind = Object.hasOwn(KINDS, linked) ? (linked as IngestKind) : 'snippets';
  return (
    <div class="screen ingest">
      <h1>Ingest</h1>
      <div class="tabs" role="tablist" aria-label="Ways to write">
        {(Object.keys(KINDS) as IngestKind[]).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={kind === name}
            onClick={() => setParameters({ kind: name })}
          >
            {KINDS[name]}
          </button>
        ))}
      </div>
      {kind === 'snippets' && <SnippetList />}
      {!mayWrite(database()) && <p class="notice">You may read {database()}, but not write to it.</p>}
      {kind === 'lines' && mayWrite(database()) && <LineForm />}
      {kind === 'items' && mayWrite(database()) && <ItemForm />}
      {kind === 'csv' && mayWrite(database()) && <CsvForm />}
    </div>
  );
}

import { computed, effect, signal } from '@preact/signals';

import { messageOf, isAbort } from '../../../core/http.js';
import { guardUnload } from '../../../core/unsaved.js';
import { readSchema, schema } from '../../../data/schema.js';
import { runSql } from '../../../data/sql.js';
import {
  createTableSql,
  guessColumns,
  hasEqualKeys,
  matchColumns,
  problemOf,
  type CsvColumn,
  type RejectedRow,
} from './csv-columns.js';
import { previewCsv, type CsvPreview } from './csv-reader.js';
import { CsvUploader, type UploadState } from './csv-upload.js';

/** How an upload ended. */
export interface UploadOutcome extends UploadState {
  readonly error: string;
  readonly isStopped: boolean;
  readonly rejected: readonly RejectedRow[];
}

/** Rows that are shown, and that types are guessed from. */
const PREVIEW_ROWS = 100;

/** A file that is to be uploaded, what its columns become, and the upload. It lasts as long as the page. */
export class CsvDraft {
  readonly file = signal<File | undefined>(undefined);
  readonly encoding = signal('utf-8');
  /** '': found out from the file. */
  readonly delimiter = signal('');
  readonly hasNames = signal(true);
  readonly preview = signal<CsvPreview | undefined>(undefined);
  readonly previewError = signal('');
  readonly table = signal('');
  /** Whether rows with the same tags and time are all kept, in a new table; undefined: if the first rows have such. */
  readonly wantsAll = signal<boolean | undefined>(undefined);
  /** The columns that the user sees, and may have changed. */
  readonly columns = signal<readonly CsvColumn[]>([]);
  readonly state = signal<UploadState | undefined>(undefined);
  readonly outcome = signal<UploadOutcome | undefined>(undefined);
  /** The table of that name, if there is one; its columns are fixed. */
  readonly existing = computed(() => schema.value?.tables.find(({ name }) => name === this.table.value.trim()));
  /** The names of the file, and the rows after them. */
  readonly names = computed(() => (this.hasNames.value ? this.preview.value?.rows[0] : undefined));
  readonly rows = computed(() => this.preview.value?.rows.slice(this.hasNames.value ? 1 : 0) ?? []);
  readonly problem = computed(() =>
    this.columns.value.length === 0 ? 'The file has no rows.' : problemOf(this.columns.value),
  );
  readonly keepsAll = computed(() => this.wantsAll.value ?? hasEqualKeys(this.columns.value, this.rows.value));
  readonly definition = computed(() =>
    createTableSql(this.table.value.trim(), this.columns.value, this.keepsAll.value),
  );
  #abort: AbortController | undefined;
  #readCount = 0;

  constructor() {
    effect(() => void this.#read(this.file.value, this.encoding.value, this.delimiter.value));
    effect(() => {
      const guessed = guessColumns(this.names.value, this.rows.value);
      const table = this.existing.value;
      this.columns.value = table === undefined ? guessed : matchColumns(guessed, table);
    });
  }

  /** Takes another file; its name proposes that of the table. */
  choose(file: File): void {
    this.preview.value = undefined;
    this.previewError.value = '';
    this.wantsAll.value = undefined;
    this.file.value = file;
    this.outcome.value = undefined;
    this.table.value = file.name.replace(/\.[^.]*$/, '').replace(/[^\p{L}\p{N}_]+/gu, '_');
  }

  /** Changes what becomes of the column at a place. */
  change(place: number, column: CsvColumn['target']): void {
    this.columns.value = this.columns.value.map((each) => (each.place === place ? { ...each, target: column } : each));
  }

  /** Makes the table unless it exists, and writes all rows. Never rejects: `outcome` has what went wrong. */
  async upload(database: string): Promise<void> {
    const [file, format, table] = [this.file.value, this.preview.value, this.table.value.trim()];
    if (file === undefined || format === undefined) return;
    const abort = (this.#abort = new AbortController());
    this.outcome.value = undefined;
    this.state.value = { readBytes: 0, storedRows: 0, rejectedRows: 0 };
    const plan = { file, format, hasNames: this.hasNames.value, database, table, columns: this.columns.value };
    const endGuard = guardUnload();
    const uploader = new CsvUploader(plan, abort.signal, (state) => (this.state.value = state));
    const ended = { error: '', isStopped: false };
    try {
      if (this.existing.value === undefined) await runSql(this.definition.value, { database, signal: abort.signal });
      await uploader.run();
    } catch (error) {
      if (isAbort(error)) ended.isStopped = true;
      else ended.error = messageOf(error);
    }
    this.outcome.value = { ...this.state.value, ...ended, rejected: uploader.rejected };
    this.state.value = undefined;
    endGuard();
    // The columns stay as they are: the table that was made has them.
    const used = plan.columns;
    await readSchema(database, true);
    if (this.file.value === file) this.columns.value = used;
  }

  /** Ends a running upload; what was stored stays. */
  stop(): void {
    this.#abort?.abort();
  }

  async #read(file: File | undefined, encoding: string, delimiter: string): Promise<void> {
    if (file === undefined) return;
    const own = ++this.#readCount;
    try {
      const preview = await previewCsv(file, encoding, delimiter, PREVIEW_ROWS + 1);
      if (own !== this.#readCount) return;
      this.preview.value = preview;
      this.previewError.value = '';
    } catch (error) {
      if (own !== this.#readCount) return;
      this.preview.value = undefined;
      this.previewError.value = messageOf(error);
    }
  }
}

/** The one draft: it outlives the screen, so that an upload continues while others are looked at. */
export const csvDraft = new CsvDraft();

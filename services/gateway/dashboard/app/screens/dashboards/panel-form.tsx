import { useEffect, useRef } from 'preact/hooks';

import { VALUE_UNITS } from '../../format/numbers.js';
import { ChartOptions } from '../../widgets/chart/chart-options.js';
import { PANEL_TYPES, type Panel, type PanelMode, type PanelQuery, type PanelType } from './document.js';

/** A panel that is changed. */
export interface PanelFormProps {
  readonly panel: Panel;
  /** Called with the members that change. */
  readonly onChange: (changes: Partial<Panel>) => void;
}

const TYPE_TITLES: Readonly<Record<PanelType, string>> = {
  chart: 'chart',
  stat: 'numbers',
  table: 'table',
  heatmap: 'heatmap of buckets',
  text: 'text',
};

/** A dialog with the fields of a panel, which is drawn again as they change. Cancel and Escape undo the changes. */
export function PanelDialog({ onClose, ...props }: PanelFormProps & { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const before = useRef(props.panel);
  useEffect(() => dialog.current?.showModal(), []);
  const undo = (): void => props.onChange(before.current);
  return (
    <dialog ref={dialog} class="panel-dialog" aria-label="Panel" onCancel={undo} onClose={onClose}>
      <div class="stack">
        <h2>Panel</h2>
        <PanelForm {...props} />
        <div class="row end">
          <button
            type="button"
            onClick={() => {
              undo();
              dialog.current?.close();
            }}
          >
            Cancel
          </button>
          <button type="button" class="primary" onClick={() => dialog.current?.close()}>
            Done
          </button>
        </div>
      </div>
    </dialog>
  );
}

function PanelForm({ panel, onChange }: PanelFormProps) {
  const { title, type, mode, text, unit, draw, scale } = panel;
  return (
    <div class="stack panel-form">
      <div class="row">
        <label class="row tight">
          Title
          <input value={title} onInput={({ currentTarget }) => onChange({ title: currentTarget.value })} />
        </label>
        <label class="row tight">
          Shows
          <select value={type} onChange={({ currentTarget }) => onChange({ type: currentTarget.value as PanelType })}>
            {PANEL_TYPES.map((each) => (
              <option key={each} value={each}>
                {TYPE_TITLES[each]}
              </option>
            ))}
          </select>
        </label>
        {type !== 'text' && (
          <label class="row tight">
            Language
            <select value={mode} onChange={({ currentTarget }) => onChange({ mode: currentTarget.value as PanelMode })}>
              <option value="promql">PromQL</option>
              <option value="sql">SQL</option>
            </select>
          </label>
        )}
        {(type === 'chart' || type === 'stat' || type === 'heatmap') && (
          <label class="row tight">
            Unit
            <select
              value={unit}
              onChange={({ currentTarget: { value } }) =>
                onChange({ unit: VALUE_UNITS.find((each) => each === value) ?? '' })
              }
            >
              <option value="">by the name</option>
              {VALUE_UNITS.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        )}
        {type === 'chart' && (
          <ChartOptions
            kind={draw}
            onKind={(kind) => onChange({ draw: kind })}
            scale={scale}
            onScale={(next) => onChange({ scale: next })}
          />
        )}
      </div>
      {type === 'text' ? (
        <label>
          Text
          <textarea rows={4} value={text} onInput={({ currentTarget }) => onChange({ text: currentTarget.value })} />
        </label>
      ) : (
        <QueryFields panel={panel} onChange={onChange} />
      )}
    </div>
  );
}

const QUERIES_MAX = 20;

function QueryFields({ panel, onChange }: PanelFormProps) {
  const { queries, type, mode } = panel;
  const set = (at: number, query: PanelQuery): void => onChange({ queries: queries.toSpliced(at, 1, query) });
  const canAdd = queries.length < QUERIES_MAX && !(type === 'table' && mode === 'sql');
  return (
    <>
      {queries.map((query, at) => (
        <div key={at} class="row">
          <label class="grow">
            {queries.length === 1 ? 'Query' : `Query ${at + 1}`}
            <textarea
              class="mono"
              rows={2}
              spellcheck={false}
              value={query.q}
              onInput={({ currentTarget }) => set(at, { ...query, q: currentTarget.value })}
            />
          </label>
          <label>
            Name of the series
            <input
              placeholder="{{host}}"
              value={query.legend}
              onInput={({ currentTarget }) => set(at, { ...query, legend: currentTarget.value })}
            />
          </label>
          {queries.length > 1 && (
            <button
              type="button"
              aria-label={`Remove query ${at + 1}`}
              onClick={() => onChange({ queries: queries.toSpliced(at, 1) })}
            >
              Remove
            </button>
          )}
        </div>
      ))}
      {canAdd && (
        <div class="row">
          <button type="button" onClick={() => onChange({ queries: [...queries, { q: '', legend: '' }] })}>
            Add a query
          </button>
        </div>
      )}
    </>
  );
}

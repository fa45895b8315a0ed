import { useLoaded } from '../../data/use-loaded.js';
import { useSettled } from '../../data/use-settled.js';
import { exactText, unitOf, valueText, type ValueUnit } from '../../format/numbers.js';
import { setRange } from '../../time/page-range.js';
import { Chart } from '../../widgets/chart/chart.js';
import { Grid } from '../../widgets/grid.js';
import { RowGrid } from '../../widgets/row-grid.js';
import { PANEL_ROW_PX, type Panel } from './document.js';
import type { MacroValues } from './macros.js';
import { loadPanel, type PanelData } from './panel-data.js';

/** What a panel is drawn from. */
export interface PanelViewProps {
  readonly panel: Panel;
  readonly values: MacroValues;
  /** Changes when everything is to be loaded again. */
  readonly loadKey: string;
}

/** Pause after which a query that is typed is run. */
const TYPED_MS = 500;
/** Height of the frame of a panel with its title. */
const FRAME_PX = 60;
/** Heights of legends. A line has room for its scroll bar. */
const LEGEND_PX = { table: 110, line: 34, none: 0 };
/** A chart beside a table of its series is not lower. */
const CHART_MIN_PX = 100;

/** The content of a panel: text, or what its queries return. */
export function PanelView({ panel, values, loadKey }: PanelViewProps) {
  const key = useSettled(JSON.stringify([panel.type, panel.mode, panel.queries]), TYPED_MS);
  const { value, failure, isLoading } = useLoaded((signal) => loadPanel(panel, values, signal), [key, loadKey]);
  if (panel.type === 'text') return <div class="panel-text">{panel.text}</div>;
  return (
    <>
      {failure !== '' && (
        <p class="error" role="alert">
          <bdi>{failure}</bdi>
        </p>
      )}
      {value === undefined ? (
        failure === '' && <p class="loading">Loading…</p>
      ) : (
        <Drawn panel={panel} data={value} isStale={isLoading} />
      )}
    </>
  );
}

interface DrawnProps {
  readonly panel: Panel;
  readonly data: PanelData;
  readonly isStale: boolean;
}

function Drawn({ panel, data, isStale }: DrawnProps) {
  if (data.kind === 'none') return <p class="dim">{data.reason}</p>;
  if (data.kind === 'rows') return <RowGrid label={panel.title || 'Rows'} rows={data.rows} />;
  if (data.kind === 'numbers') {
    return panel.type === 'table' ? <NumberTable panel={panel} data={data} /> : <Numbers panel={panel} data={data} />;
  }
  const heightPx = panel.h * PANEL_ROW_PX - FRAME_PX;
  const legend = data.cells !== undefined ? 'none' : heightPx > LEGEND_PX.table + CHART_MIN_PX ? 'table' : 'line';
  return (
    <Chart
      title={panel.title || 'Chart'}
      series={data.series}
      cells={data.cells}
      unit={unitFor(panel)}
      range={data.range}
      stepMs={data.stepMs}
      kind={panel.draw}
      scale={panel.scale}
      onZoom={setRange}
      isStale={isStale}
      heightPx={Math.max(80, heightPx - LEGEND_PX[legend])}
      legend={legend}
    />
  );
}

/** Returns the unit of a panel: the chosen one, or that of the metric or column that its first query names. */
function unitFor({ unit, queries }: Panel, name?: string): ValueUnit {
  if (unit !== '') return unit;
  const [{ q } = { q: '' }] = queries;
  const metric = name ?? /[a-zA-Z_:][\w:]*(?=\s*[{[]|\s*$)/.exec(q)?.[0] ?? '';
  return unitOf(metric, /\b(i?rate|deriv)\s*\(/.test(q));
}

function Numbers({ panel, data }: { readonly panel: Panel; readonly data: Extract<PanelData, { kind: 'numbers' }> }) {
  if (data.numbers.length === 0) return <p class="dim">No value</p>;
  return (
    <dl class="panel-numbers">
      {data.numbers.map(({ name, value }, i) => (
        <div key={i}>
          <dt>
            <bdi>{name === '{}' ? panel.title : name}</bdi>
          </dt>
          <dd title={exactText(value)}>{valueText(value, unitFor(panel, panel.mode === 'sql' ? name : undefined))}</dd>
        </div>
      ))}
    </dl>
  );
}

function NumberTable({
  panel,
  data,
}: {
  readonly panel: Panel;
  readonly data: Extract<PanelData, { kind: 'numbers' }>;
}) {
  const columns = [
    { name: 'series', isNumber: false },
    { name: 'value', isNumber: true },
  ];
  return (
    <Grid
      label={panel.title || 'Values'}
      columns={columns}
      rowCount={data.numbers.length}
      cell={(column, row) => {
        const { name, value } = data.numbers[row];
        return { text: column === 0 ? name : exactText(value) };
      }}
    />
  );
}

import './service-map.css';

import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { linkTo, parameters, setParameters } from '../../../core/route.js';
import { database } from '../../../data/sql.js';
import { useLoaded } from '../../../data/use-loaded.js';
import { counted } from '../../../format/counted.js';
import { countText } from '../../../format/numbers.js';
import { isRangeValid, pageRange, rangeNow, reloadCount } from '../../../time/page-range.js';
import { FailureText } from '../../../widgets/failure-text.js';
import { Grid, type GridCell, type GridSort } from '../../../widgets/grid.js';
import { Icon } from '../../../widgets/icons.js';
import { serviceCalls } from '../jaeger.js';
import { serviceLayers, type PlacedService, type ServiceCalls } from './service-layers.js';

/** Names could not be read in a drawing of more. */
const DRAWN_MAX = 100;

/** Which services call which, as a table and as a drawing. */
export function ServiceMap() {
  const { from, to } = pageRange.value;
  const { value, failure } = useLoaded(loadCalls, [database(), from, to, reloadCount.value]);
  return (
    <>
      <div class="row trace-head">
        <button type="button" onClick={() => setParameters({ view: undefined })}>
          <Icon name="back" /> Search
        </button>
        <h2>Service map</h2>
        {value !== undefined && <span role="status">{counted(value.length, 'pair')} of services with calls</span>}
      </div>
      <FailureText text={failure} />
      {value === undefined && failure === '' && <p class="loading">Loading…</p>}
      {value?.length === 0 && <p class="empty">No service has called another one in this time range.</p>}
      {value !== undefined && value.length > 0 && (
        <>
          <CallTable calls={value} />
          <Drawing calls={value} />
        </>
      )}
    </>
  );
}

async function loadCalls(signal: AbortSignal): Promise<readonly ServiceCalls[]> {
  if (!isRangeValid.peek()) throw new Error('The time range of the address cannot be read: choose one above.');
  return serviceCalls(rangeNow(), signal);
}

const COLUMNS = [
  { name: 'Caller', isNumber: false },
  { name: 'Called', isNumber: false },
  { name: 'Calls', isNumber: true },
];

function CallTable({ calls }: { readonly calls: readonly ServiceCalls[] }) {
  const sort = useSignal<GridSort>({ column: 2, isDescending: true });
  const sorted = useMemo(() => {
    const { column, isDescending } = sort.value;
    const sign = isDescending ? -1 : 1;
    const value = (row: ServiceCalls): string | number => [row.parent, row.child, row.callCount][column];
    return [...calls].sort((a, b) => (value(a) === value(b) ? 0 : value(a) < value(b) ? -sign : sign));
  }, [calls, sort.value]);
  const cell = (column: number, row: number): GridCell => {
    const { parent, child, callCount } = sorted[row];
    return { text: [parent, child, countText(callCount)][column] };
  };
  return (
    <div class="call-table">
      <Grid
        label="Calls between services"
        columns={COLUMNS}
        rowCount={sorted.length}
        cell={cell}
        sort={sort.value}
        onSort={(column) => {
          const isAgain = sort.value.column === column;
          sort.value = { column, isDescending: isAgain ? !sort.value.isDescending : COLUMNS[column].isNumber };
        }}
        onOpen={(column, row) => {
          const service = column === 0 ? sorted[row].parent : sorted[row].child;
          setParameters({ view: undefined, service, op: undefined });
        }}
      />
    </div>
  );
}

const [BOX_PX, BOX_HIGH_PX, LAYER_PX, ROW_PX] = [160, 30, 250, 46];
/** With space for lines that go around boxes. */
const MARGIN_PX = 44;
const ARROW_PX = 8;

function Drawing({ calls }: { readonly calls: readonly ServiceCalls[] }) {
  const layers = useMemo(() => serviceLayers(calls), [calls]);
  const { services, layerCount, rowCount } = layers;
  if (services.length > DRAWN_MAX) {
    return <p class="dim">{`${countText(services.length)} services are too many for a drawing.`}</p>;
  }
  const placeOf = new Map(services.map((service) => [service.name, boxOf(service, services, rowCount)]));
  const most = Math.max(...calls.map(({ callCount }) => callCount));
  const widthPx = (layerCount - 1) * LAYER_PX + BOX_PX + 2 * MARGIN_PX;
  const heightPx = rowCount * ROW_PX + 2 * MARGIN_PX;
  return (
    <div class="service-map" role="region" aria-label="Drawing of the calls" tabIndex={0}>
      <div class="service-map-page" style={{ width: `${widthPx}px`, height: `${heightPx}px` }}>
        <svg width={widthPx} height={heightPx} aria-hidden="true" focusable="false">
          <marker
            id="service-arrow"
            viewBox="0 0 8 8"
            refX="0"
            refY="4"
            markerUnits="userSpaceOnUse"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
          {calls.map(({ parent, child, callCount }) => (
            <path
              key={`${parent}\u0000${child}`}
              class="service-line"
              marker-end="url(#service-arrow)"
              d={lineBetween(placeOf.get(parent), placeOf.get(child))}
              // Counts differ by orders of magnitude.
              stroke-width={1 + 4 * (Math.log1p(callCount) / Math.log1p(most))}
            />
          ))}
        </svg>
        {services.map(({ name }) => (
          <a
            key={name}
            class="service-box"
            style={{ left: `${placeOf.get(name)?.left ?? 0}px`, top: `${placeOf.get(name)?.top ?? 0}px` }}
            href={linkTo('traces', { ...Object.fromEntries(parameters.value), view: undefined, service: name })}
            title={name}
          >
            <bdi>{name === '' ? '(no service)' : name}</bdi>
          </a>
        ))}
      </div>
    </div>
  );
}

interface BoxPlace {
  readonly left: number;
  readonly top: number;
}

/** Layers with fewer services are in the middle. */
function boxOf({ layer, row }: PlacedService, services: readonly PlacedService[], rowCount: number): BoxPlace {
  const inLayer = services.filter((other) => other.layer === layer).length;
  return {
    left: MARGIN_PX + layer * LAYER_PX,
    top: MARGIN_PX + (row + (rowCount - inLayer) / 2) * ROW_PX + (ROW_PX - BOX_HIGH_PX) / 2,
  };
}

/** From the right side of the caller to the left side of what it calls: above boxes between them, and below on the way back. */
function lineBetween(from: BoxPlace | undefined, to: BoxPlace | undefined): string {
  if (from === undefined || to === undefined) return '';
  const [x1, y1] = [from.left + BOX_PX, from.top + BOX_HIGH_PX / 2];
  const [x2, y2] = [to.left - ARROW_PX, to.top + BOX_HIGH_PX / 2];
  const distance = to.left - from.left;
  const around = distance <= 0 ? ROW_PX : distance > LAYER_PX ? -ROW_PX : 0;
  const bow = distance <= 0 ? BOX_PX / 2 : Math.max(40, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bow} ${y1 + around} ${x2 - bow} ${y2 + around} ${x2} ${y2}`;
}

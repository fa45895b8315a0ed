import { exactText, valueText, type ValueUnit } from '../../format/numbers.js';
import { Icon } from '../icons.js';
import { exemplarValue, pairsText } from './exemplars/exemplar-list.js';
import { instantText } from '../../time/instant-text.js';
import type { CursorReadout } from './plot.js';
import type { Readout, Reading } from './readout.js';
import { pairText } from './series.js';
import { Swatch } from './swatch.js';

const HOVER_READINGS_MAX = 10;
const PINNED_READINGS_MAX = 50;

/** How values and labels are shown. */
export interface ReadoutLook {
  readonly unit: ValueUnit;
  readonly zone: string;
  /** Names of labels that differ between the series of the chart. */
  readonly differing: ReadonlySet<string>;
}

/** The values at the cursor, beside it; it never takes the pointer. */
export function Tooltip({
  readout,
  look,
  widthPx,
}: {
  readonly readout: CursorReadout;
  readonly look: ReadoutLook;
  /** Of the chart. */
  readonly widthPx: number;
}) {
  const { leftPx, topPx, readings, timeMs, cell, exemplar } = readout;
  const isLeft = leftPx > widthPx / 2;
  const side = isLeft ? { right: `${widthPx - leftPx + 12}px` } : { left: `${leftPx + 12}px` };
  const shown = readings.slice(0, HOVER_READINGS_MAX);
  return (
    <div class="chart-tooltip" aria-hidden="true" style={{ ...side, top: `${Math.max(0, topPx - 20)}px` }}>
      <div class="dim">{instantText(timeMs, look.zone)}</div>
      {cell !== undefined && (
        <div>
          {valueText(cell.bucket.low, look.unit)} to {valueText(cell.bucket.high, look.unit)}:{' '}
          <b>{valueText(cell.count, 'short')}</b>
        </div>
      )}
      {exemplar !== undefined && (
        <div>
          ◆ <b>{exemplarValue(exemplar, look.unit)}</b> <bdi>{pairsText(exemplar.labels)}</bdi>
        </div>
      )}
      <ReadingRows readings={shown} look={look} isExact={false} />
      {readings.length > shown.length && <div class="dim">{readings.length - shown.length} more</div>}
    </div>
  );
}

/** Values that stay, exact and to be copied. */
export function PinnedCard({
  readout,
  look,
  onClose,
}: {
  readonly readout: Readout;
  readonly look: ReadoutLook;
  readonly onClose: () => void;
}) {
  const time = instantText(readout.timeMs, look.zone);
  const shown = readout.readings.slice(0, PINNED_READINGS_MAX);
  return (
    <section class="chart-pin" aria-label={`Values at ${time}`}>
      <div class="row tight">
        <span class="grow">{time}</span>
        <button type="button" class="icon-button" aria-label={`Unpin ${time}`} title="Unpin" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <ReadingRows readings={shown} look={look} isExact />
      {readout.readings.length > shown.length && (
        <div class="dim">{readout.readings.length - shown.length} more: show them as a table</div>
      )}
    </section>
  );
}

/** Returns the values at an instant as a sentence, for those who hear them. */
export function spokenReadout({ timeMs, readings }: Readout, { unit, zone }: ReadoutLook, countMax: number): string {
  const values = readings.slice(0, countMax).map(({ series, value }) => `${series.label} ${valueText(value, unit)}`);
  return `${instantText(timeMs, zone)}: ${values.length === 0 ? 'no value' : values.join(', ')}`;
}

function ReadingRows({
  readings,
  look: { unit, differing },
  isExact,
}: {
  readonly readings: readonly Reading[];
  readonly look: ReadoutLook;
  readonly isExact: boolean;
}) {
  return (
    <table class="chart-readings">
      <tbody>
        {readings.map(({ series, style, value }) => (
          <tr key={series.key}>
            <td>
              <Swatch style={style} />
            </td>
            <td class="chart-reading-name">
              <SeriesName series={series} differing={differing} />
            </td>
            <td class="number">{isExact ? exactText(value) : valueText(value, unit)}</td>
            {isExact && unit !== 'none' && <td class="number dim">{valueText(value, unit)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SeriesName({
  series,
  differing,
}: {
  readonly series: Reading['series'];
  readonly differing: ReadonlySet<string>;
}) {
  const pairs = Object.entries(series.labels);
  const shown = pairs.filter(([name]) => differing.has(name));
  if (shown.length === 0) return <>{series.label}</>;
  const { __name__: metric } = series.labels;
  return (
    <>
      {metric !== undefined && !differing.has('__name__') && `${metric} `}
      {shown.map(([name, value]) => (
        <b key={name}>{name === '__name__' ? `${value} ` : `${pairText(name, value)} `}</b>
      ))}
    </>
  );
}

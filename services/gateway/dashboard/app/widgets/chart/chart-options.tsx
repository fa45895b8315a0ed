import { VALUE_UNITS, type ValueUnit } from '../../format/numbers.js';
import type { ChartKind, ChartScale, ValueBounds } from './series.js';

/** Choices of how a chart is drawn; each is shown if its handler is given. */
interface ChartOptionsProps {
  readonly unit?: ValueUnit;
  readonly onUnit?: (unit: ValueUnit) => void;
  readonly scale?: ChartScale;
  readonly onScale?: (scale: ChartScale) => void;
  readonly kind?: ChartKind;
  readonly onKind?: (kind: ChartKind) => void;
  readonly bounds?: ValueBounds;
  readonly onBounds?: (bounds: ValueBounds) => void;
}

const SCALES: Readonly<Record<ChartScale, string>> = { lin: 'linear', zero: 'from zero', log: 'logarithmic' };
const KINDS: Readonly<Record<ChartKind, string>> = {
  line: 'lines',
  area: 'stacked areas',
  bars: 'stacked bars',
  points: 'points',
};

/** Returns the axis that a parameter of the address names. */
export function scaleOf(text: string): ChartScale {
  return text === 'log' || text === 'zero' ? text : 'lin';
}

/** Returns the kind of chart that a parameter of the address names. */
export function kindOf(text: string): ChartKind {
  return text === 'bars' || text === 'points' || text === 'area' ? text : 'line';
}

/** Reads bounds of the axis from texts such as parameters of the address; what is no number is no bound. */
export function boundsOf(min: string, max: string): ValueBounds {
  return { min: numberOf(min), max: numberOf(max) };
}

function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() === '' || !Number.isFinite(value) ? undefined : value;
}

/** Lets the user choose kind, axis, bounds and unit of a chart. */
export function ChartOptions(props: ChartOptionsProps) {
  return (
    <>
      {props.onKind !== undefined && (
        <Choice label="Draw" value={props.kind ?? 'line'} names={KINDS} onChange={props.onKind} />
      )}
      {props.onScale !== undefined && (
        <Choice label="Axis" value={props.scale ?? 'lin'} names={SCALES} onChange={props.onScale} />
      )}
      {props.onBounds !== undefined && <Bounds bounds={props.bounds ?? {}} onBounds={props.onBounds} />}
      {props.onUnit !== undefined && (
        <Choice label="Unit" value={props.unit ?? 'short'} names={UNITS} onChange={props.onUnit} />
      )}
    </>
  );
}

const UNITS = Object.fromEntries(VALUE_UNITS.map((unit) => [unit, unit])) as Readonly<Record<ValueUnit, string>>;

function Bounds({
  bounds,
  onBounds,
}: {
  readonly bounds: ValueBounds;
  readonly onBounds: (bounds: ValueBounds) => void;
}) {
  return (
    <span class="inline" role="group" aria-label="Lowest and highest value">
      {(['min', 'max'] as const).map((end) => (
        <input
          key={end}
          class="bound"
          inputMode="decimal"
          aria-label={end === 'min' ? 'Minimum' : 'Maximum'}
          placeholder={end}
          value={bounds[end] === undefined ? '' : String(bounds[end])}
          onChange={({ currentTarget: { value } }) => onBounds({ ...bounds, [end]: numberOf(value) })}
        />
      ))}
    </span>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly names: Readonly<Record<T, string>>;
  readonly onChange: (value: T) => void;
}

function Choice<T extends string>({ label, value, names, onChange }: ChoiceProps<T>) {
  return (
    <label class="inline">
      <span class="dim">{label}</span>{' '}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as T)}>
        {(Object.keys(names) as T[]).map((name) => (
          <option key={name} value={name}>
            {names[name]}
          </option>
        ))}
      </select>
    </label>
  );
}

import { VALUE_UNITS, type ValueUnit } from '../../format/numbers.js';
import type { ChartKind, ChartScale } from './series.js';

/** Choices of how a chart is drawn; each is shown if its handler is given. */
interface ChartOptionsProps {
  readonly unit?: ValueUnit;
  readonly onUnit?: (unit: ValueUnit) => void;
  readonly scale?: ChartScale;
  readonly onScale?: (scale: ChartScale) => void;
  readonly kind?: ChartKind;
  readonly onKind?: (kind: ChartKind) => void;
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

/** Lets the user choose unit, axis and kind of a chart. */
export function ChartOptions(props: ChartOptionsProps) {
  return (
    <>
      {props.onKind !== undefined && (
        <Choice label="Draw" value={props.kind ?? 'line'} names={KINDS} onChange={props.onKind} />
      )}
      {props.onScale !== undefined && (
        <Choice label="Axis" value={props.scale ?? 'lin'} names={SCALES} onChange={props.onScale} />
      )}
      {props.onUnit !== undefined && (
        <Choice label="Unit" value={props.unit ?? 'short'} names={UNITS} onChange={props.onUnit} />
      )}
    </>
  );
}

const UNITS = Object.fromEntries(VALUE_UNITS.map((unit) => [unit, unit])) as Readonly<Record<ValueUnit, string>>;

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

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { setParameters } from '../core/route.js';
import { storedSignal } from '../core/stored.js';
import { civilOf, civilText, offsetMinutes, offsetText } from '../time/civil.js';
import { isRangeValid, pageRange, rangeNow, setRange } from '../time/page-range.js';
import { parseInstant, QUICK_RANGES, resolveRange, type RangeText } from '../time/range.js';
import { allZones, BROWSER_ZONE, chosenZone, zone } from '../time/zones.js';
import { openDialog } from './keys.js';

const RECENT_MAX = 5;
const recent = storedSignal<readonly RangeText[]>('recent-ranges', [], isRanges);

/** The button that shows the range and its zone, and the dialog in which both are chosen. */
export function TimePicker() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = openDialog.value === 'time';
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = (): void => void (openDialog.value = undefined);
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => (openDialog.value = 'time')}>
        {rangeLabel(pageRange.value)} <span class="dim">{offsetText(offsetMinutes(rangeNow().toMs, zone.value))}</span>
      </button>
      {!isRangeValid.value && (
        <span class="warn" role="status">
          The range in the address cannot be read: the last hour is shown
        </span>
      )}
      <dialog ref={dialog} class="time-dialog" aria-label="Time range" onClose={() => isOpen && close()}>
        {isOpen && <RangeForm onDone={close} />}
      </dialog>
    </>
  );
}

function RangeForm({ onDone }: { readonly onDone: () => void }) {
  const from = useSignal(editable(pageRange.value.from));
  const to = useSignal(editable(pageRange.value.to));
  const fault = useSignal('');
  const choose = (range: RangeText): void => {
    setRange(range);
    onDone();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const typed = { from: from.value.trim(), to: to.value.trim() };
    if (resolveRange(typed, Date.now(), zone.value) === undefined) {
      fault.value = 'Use now-1h, now/d, 2026-11-21 17:26, or a number of seconds, ms, us or ns; the end must be later.';
      return;
    }
    const range = { from: absolute(typed.from, 'start'), to: absolute(typed.to, 'end') };
    recent.value = [range, ...recent.value.filter((old) => old.from !== range.from || old.to !== range.to)].slice(
      0,
      RECENT_MAX,
    );
    choose(range);
  };
  return (
    <>
      <div class="quick" role="group" aria-label="Quick ranges">
        {QUICK_RANGES.map((length) => (
          <button key={length} type="button" onClick={() => choose({ from: `now-${length}`, to: 'now' })}>
            {length}
          </button>
        ))}
        <button type="button" onClick={() => choose({ from: 'now/d', to: 'now' })}>
          today
        </button>
      </div>
      <form onSubmit={submit} class="stack">
        <label>
          From
          <input value={from} onInput={({ currentTarget }) => (from.value = currentTarget.value)} />
        </label>
        <label>
          To
          <input value={to} onInput={({ currentTarget }) => (to.value = currentTarget.value)} />
        </label>
        {fault.value !== '' && (
          <p class="error" role="alert">
            {fault}
          </p>
        )}
        <ZoneChoice />
        <div class="row end">
          <button type="button" onClick={onDone}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Apply
          </button>
        </div>
      </form>
      {recent.value.length > 0 && (
        <div class="stack" role="group" aria-label="Recent ranges">
          {recent.value.map((range) => (
            <button key={range.from + range.to} type="button" class="plain" onClick={() => choose(range)}>
              {rangeLabel(range)}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

function ZoneChoice() {
  const choose = (name: string): void => {
    chosenZone.value = name === BROWSER_ZONE ? '' : name;
    setParameters({ tz: name === BROWSER_ZONE ? undefined : name });
  };
  return (
    <label>
      Time zone
      <select value={zone.value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value={BROWSER_ZONE}>{BROWSER_ZONE} (this browser)</option>
        {allZones().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Returns a range as people read it. */
function rangeLabel({ from, to }: RangeText): string {
  const length = /^now-(\w+)$/.exec(from)?.[1];
  if (to === 'now' && length !== undefined) return `Last ${length}`;
  return `${editable(from)} to ${editable(to)}`;
}

/** Returns milliseconds as a date of the zone; other texts as they are. */
function editable(text: string): string {
  if (!/^-?\d{12,14}$/.test(text)) return text;
  return civilText(civilOf(Number(text), zone.value), Number(text) % 1000 === 0 ? 0 : 3);
}

/** Returns a date as milliseconds, so that a link means the same instant in every zone. */
function absolute(text: string, edge: 'start' | 'end'): string {
  if (text.startsWith('now')) return text;
  return String(Math.round(parseInstant(text, Date.now(), zone.value, edge) ?? 0));
}

function isRanges(value: unknown): value is readonly RangeText[] {
  const isText = (range: Partial<RangeText> | null): boolean =>
    typeof range?.from === 'string' && typeof range.to === 'string';
  return Array.isArray(value) && value.every((range) => isText(range as Partial<RangeText> | null));
}

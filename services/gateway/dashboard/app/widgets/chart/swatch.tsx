import type { SeriesStyle } from './series-style.js';

/** A sample of the line of a series. @param isOff drawn as an outline, for a hidden series. */
export function Swatch({ style, isOff = false }: { readonly style: SeriesStyle; readonly isOff?: boolean }) {
  return (
    <svg class="swatch" viewBox="0 0 24 12" aria-hidden="true" focusable="false">
      {isOff ? (
        <rect x="1" y="2" width="22" height="8" rx="2" fill="none" stroke={style.colour} stroke-width="1.5" />
      ) : (
        <path
          d="M1 6H23"
          stroke={style.colour}
          stroke-width={style.dash.length === 0 ? 6 : 3.5}
          stroke-dasharray={style.dash.join(' ')}
        />
      )}
    </svg>
  );
}

import './patterns.css';

import { yieldToPage } from '../../../core/yield.js';
import { useLoaded } from '../../../data/use-loaded.js';
import { counted } from '../../../format/counted.js';
import { countText, secondsText } from '../../../format/numbers.js';
import { nanosecondText } from '../../../time/nanosecond-text.js';
import { zone } from '../../../time/zones.js';
import { FailureText } from '../../../widgets/failure-text.js';
import { Icon } from '../../../widgets/icons.js';
import { visibleText } from '../line-segments.js';
import { LineText } from '../line-row.js';
import type { LogLine } from '../log-line.js';
import { searchFor, searchText } from '../logs-state.js';
import type { LogTable } from '../search/log-table.js';
import { withCondition } from '../search/search.js';
import { findPatterns, TREND_INTERVALS, type LogPattern, type LogPatterns } from './log-patterns.js';
import { patternRegex } from './mask-line.js';

/** What patterns are made of. */
export interface PatternsViewProps {
  readonly lines: readonly LogLine[];
  readonly table: LogTable;
}

/** Rarer patterns are counted together. */
const ROWS_MAX = 200;
const EXAMPLE_LENGTH_MAX = 300;

/** What the lines look like without numbers and names, the most frequent kind first. */
export function PatternsView({ lines, table }: PatternsViewProps) {
  const { value, failure } = useLoaded((signal) => findPatterns(lines, yieldToPage, signal), [lines]);
  if (value === undefined) {
    return failure === '' ? <p class="loading">Loading…</p> : <FailureText text={failure} />;
  }
  return (
    <div class="patterns" role="region" aria-label="Patterns" tabIndex={0}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col" class="number">
              Lines
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col">Trend</th>
            <th scope="col">Pattern, and its newest line</th>
            <th scope="col">
              <span class="visually-hidden">Exclude</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {value.patterns.slice(0, ROWS_MAX).map((pattern) => (
            <PatternRow key={pattern.key} pattern={pattern} of={value} table={table} />
          ))}
        </tbody>
      </table>
      <Rest of={value} />
    </div>
  );
}

function Rest({ of: { patterns, otherCount } }: { readonly of: LogPatterns<LogLine> }) {
  const rest = patterns.slice(ROWS_MAX);
  if (rest.length === 0 && otherCount === 0) return null;
  const lines = rest.reduce((sum, { count }) => sum + count, otherCount);
  const kinds =
    otherCount === 0 ? counted(rest.length, 'more pattern') : `more than ${counted(rest.length, 'pattern')}`;
  return <p class="dim">{`${counted(lines, 'line')} of ${kinds}`}</p>;
}

interface PatternRowProps {
  readonly pattern: LogPattern<LogLine>;
  readonly of: LogPatterns<LogLine>;
  readonly table: LogTable;
}

function PatternRow({ pattern, of: { lineCount, intervalMs }, table }: PatternRowProps) {
  const { parts, isCut, count, newest, trend } = pattern;
  const text = parts.map((part) => part.text).join('');
  const share = (100 * count) / lineCount;
  const choose = (isExcluded: boolean): void => {
    const regex = patternRegex(pattern);
    searchFor(withCondition(searchText.value, table.lineColumn, isExcluded ? '!~' : '~', regex));
  };
  return (
    <tr>
      <td class="number">{countText(count)}</td>
      <td class="number">{`${share.toFixed(share < 10 ? 1 : 0)} %`}</td>
      <td>
        <Trend counts={trend} intervalMs={intervalMs} />
      </td>
      <td class="pattern-cell">
        <button
          type="button"
          class="plain pattern-text"
          title="Click: only these lines. Alt+click: not these lines"
          onClick={(event) => choose(event.altKey)}
        >
          <bdi>
            {text === '' && <span class="dim">(empty)</span>}
            {parts.map((part, i) =>
              part.regex === undefined || part.text === ' ' ? (
                visibleText(part.text)
              ) : (
                <span key={i} class="pattern-mask">
                  {part.text}
                </span>
              ),
            )}
            {isCut && <span class="dim"> …</span>}
          </bdi>
        </button>
        <div class="pattern-example">
          <time title={nanosecondText(newest.timeNs, zone.value, 9)}>
            {nanosecondText(newest.timeNs, zone.value, 3)}
          </time>{' '}
          <LineText text={newest.text.slice(0, EXAMPLE_LENGTH_MAX)} marks={[]} isOpen={false} />
        </div>
      </td>
      <td>
        <button
          type="button"
          class="icon-button"
          aria-label={`Exclude the pattern ${visibleText(text.slice(0, 200))}`}
          title="Not these lines"
          onClick={() => choose(true)}
        >
          <Icon name="close" />
        </button>
      </td>
    </tr>
  );
}

const BAR = 4;
const HIGH = 24;

function Trend({ counts, intervalMs }: { readonly counts: readonly number[]; readonly intervalMs: number }) {
  const most = Math.max(...counts);
  const bars = counts.flatMap((count, i) => {
    // A single line is visible beside thousands.
    const high = count === 0 ? 0 : Math.max(1.5, (count / most) * HIGH);
    return count === 0 ? [] : [`M${i * BAR} ${HIGH}v${-high}h${BAR - 1}v${high}z`];
  });
  return (
    <svg
      class="pattern-trend"
      viewBox={`0 0 ${TREND_INTERVALS * BAR} ${HIGH}`}
      role="img"
      aria-label={`At most ${counted(most, 'line')} in ${secondsText(intervalMs / 1000, 2)}`}
    >
      <path d={bars.join('')} />
    </svg>
  );
}

import { useMemo } from 'preact/hooks';

import { countText } from '../../format/numbers.js';
import { zone } from '../../time/zones.js';
import { Icon } from '../../widgets/icons.js';
import { LineDetails } from './line-details.js';
import type { LogLine } from './log-line.js';
import type { LogTable } from './search/log-table.js';
import { nanosecondText } from '../../time/nanosecond-text.js';
import { lineSegments } from './line-segments.js';

/** Longer lines are cut until they are opened. */
const SHOWN_MAX = 2000;
const OPEN_MAX = 100_000;

interface LineTextProps {
  readonly text: string;
  readonly marks: readonly RegExp[];
  readonly isOpen: boolean;
}

/** The text of a line with marks, colours and links. */
export function LineText({ text, marks, isOpen }: LineTextProps) {
  const max = isOpen ? OPEN_MAX : SHOWN_MAX;
  const segments = useMemo(() => lineSegments(text.slice(0, max), marks), [text, marks, max]);
  return (
    <bdi class="line-text">
      {segments.map((segment, i) => {
        const content = segment.isMarked ? <mark key={i}>{segment.text}</mark> : segment.text;
        if (segment.link !== undefined) {
          return (
            <a key={i} href={segment.link} target="_blank" rel="noopener noreferrer nofollow" class={segment.classes}>
              {content}
            </a>
          );
        }
        return segment.classes === '' ? content : <span class={segment.classes}>{content}</span>;
      })}
      {text.length > max && <span class="dim">{` … ${countText(text.length - max)} more characters`}</span>}
    </bdi>
  );
}

interface LineRowProps {
  readonly line: LogLine;
  readonly table: LogTable;
  readonly repeats: number;
  readonly index: number;
  readonly count: number;
  readonly marks: readonly RegExp[];
  readonly isOpen: boolean;
  readonly isActive: boolean;
  /** Whether it is the one that was searched for. */
  readonly isCurrent?: boolean;
  readonly onToggle: (line: LogLine) => void;
}

/** A line of the list; its fields are below it when it is open. */
export function LineRow(props: LineRowProps) {
  const { line, table, repeats, index, count, marks, isOpen, isActive, isCurrent = false, onToggle } = props;
  const level = line.level ?? 'other';
  const time = nanosecondText(line.timeNs, zone.value, 3);
  const onClick = (): void => {
    // Text that is being selected is to be copied.
    if (getSelection()?.isCollapsed !== false) onToggle(line);
  };
  return (
    <div
      role="listitem"
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-current={isCurrent ? 'true' : undefined}
      class={`log-line${isOpen ? ' open' : ''}`}
    >
      <div class="log-line-head" onClick={onClick}>
        <button
          type="button"
          class="plain line-toggle"
          data-line={index}
          tabIndex={isActive ? 0 : -1}
          aria-expanded={isOpen}
          aria-label={`Fields of the line at ${time}`}
          onClick={(event) => {
            event.stopPropagation();
            onToggle(line);
          }}
        >
          <Icon name="chevron" />
        </button>
        <time title={nanosecondText(line.timeNs, zone.value, 9)}>{time}</time>
        <span class={`level-letter level-${level}`} title={line.level ?? 'no level'}>
          {line.level === undefined ? '' : line.level.charAt(0).toUpperCase()}
          {line.level !== undefined && <span class="visually-hidden">{line.level.slice(1)}</span>}
        </span>
        <LineText text={line.text} marks={marks} isOpen={isOpen} />
        {repeats > 0 && <span class="repeats" title="Equal lines in a row">{`× ${countText(repeats + 1)}`}</span>}
      </div>
      {isOpen && <LineDetails line={line} table={table} />}
    </div>
  );
}

import { useEffect, useMemo } from 'preact/hooks';

import { messageOf } from '../../../core/http.js';
import { database } from '../../../data/sql.js';
import { countText } from '../../../format/numbers.js';
import { Icon } from '../../../widgets/icons.js';
import { LinesView } from '../lines-view.js';
import { LiveTail } from './live-tail.js';
import type { LogTable } from '../search/log-table.js';
import { view } from '../logs-state.js';
import { parseSearch, type SearchNode } from '../search/search.js';
import { SHOWN_PER_SECOND } from './tail-sampler.js';
import { tailSearch } from '../search/tail-search.js';

interface LiveViewProps {
  readonly table: LogTable;
  readonly text: string;
}

/** Lines as they are written, the newest at the bottom. */
export function LiveView({ table, text }: LiveViewProps) {
  const name = database();
  const started = useMemo(() => tailOf(table, text), [table, text, name]);
  const { tail } = started;
  useEffect(() => {
    tail?.start();
    return () => tail?.stop();
  }, [tail]);
  if (tail === undefined) {
    return (
      <p class="error" role="alert">
        {started.failure}
      </p>
    );
  }
  const isSampling = tail.isSampling.value;
  const rate = `${countText(tail.perSecond.value)} lines/s`;
  return (
    <section class="live" aria-label="Live tail">
      <div class="row live-bar">
        <span class={tail.isConnected.value ? 'good' : 'dim'}>{tail.isConnected.value ? 'Live' : 'Connecting…'}</span>
        <span>{isSampling ? `${rate}, of which ${SHOWN_PER_SECOND} are shown` : rate}</span>
        {tail.skippedCount.value > 0 && (
          <span class="warn">{countText(tail.skippedCount.value)} lines were too many for the server to send</span>
        )}
        <span class="grow" />
        {!tail.isFollowing.value && (
          <button type="button" class="primary" onClick={() => tail.follow(true)}>
            <Icon name="download" /> {countText(tail.newCount.value)} new
          </button>
        )}
      </div>
      {tail.failure.value !== '' && (
        <p class="error" role="alert">
          {tail.failure}
        </p>
      )}
      {tail.lines.value.length === 0 && tail.failure.value === '' && (
        <p class="empty">New lines of {table.name} appear here as soon as they are written.</p>
      )}
      <LinesView
        lines={tail.lines.value}
        table={table}
        search={started.search}
        isJson={view.value === 'json'}
        isFollowing={tail.isFollowing.value}
        onFollowing={(isFollowing) => tail.follow(isFollowing)}
      />
    </section>
  );
}

interface StartedTail {
  readonly tail?: LiveTail;
  readonly search?: SearchNode | undefined;
  readonly failure?: string;
}

function tailOf(table: LogTable, text: string): StartedTail {
  try {
    const search = parseSearch(text);
    return { tail: new LiveTail(table, tailSearch(search, table)), search };
  } catch (error) {
    return { failure: messageOf(error) };
  }
}

import { useMemo } from 'preact/hooks';

import { parameter, setParameters } from '../../../core/route.js';
import { foundValue, type FlameFrame } from '../../../widgets/flame/flame-data.js';
import { FlameGraph } from '../../../widgets/flame/flame-graph.js';
import { microsecondText } from '../duration.js';
import type { SpanTree } from '../span-tree.js';
import { findText } from '../traces-state.js';
import { OperationSearch } from './operation-search.js';
import { LEVELS_MAX, traceFlame } from './trace-flame.js';

const serviceOf = ({ file }: FlameFrame): string => file;

/** The spans of a trace as a flame graph: below each operation those that it calls, as wide as they took. */
export function TraceFlameView({ tree }: { readonly tree: SpanTree }) {
  const data = useMemo(() => traceFlame(tree), [tree]);
  const search = findText.value;
  const isInverted = parameter('invert') === 'true';
  const found = useMemo(() => (search.trim() === '' ? undefined : foundValue(data, search)), [data, search]);
  const share = found === undefined || data.total === 0 ? 0 : (100 * found) / data.total;
  const isCut = tree.nodes.some(({ depth }) => depth >= LEVELS_MAX);
  return (
    <>
      <div class="row trace-tools">
        <OperationSearch />
        <span role="status" class="dim">
          {found === undefined
            ? `${microsecondText(data.total)} of spans in all`
            : `${microsecondText(found)} found, ${share.toFixed(2)} %`}
        </span>
        <label class="check">
          <input
            type="checkbox"
            checked={isInverted}
            onChange={({ currentTarget: { checked } }) => setParameters({ invert: checked ? 'true' : undefined })}
          />
          Callers below
        </label>
        {isCut && <span class="dim">{`Spans below level ${LEVELS_MAX} are added to it.`}</span>}
      </div>
      <div class="trace-flame">
        <FlameGraph
          data={data}
          title="Trace"
          search={search}
          isInverted={isInverted}
          format={(us) => microsecondText(Math.round(us))}
          groupOf={serviceOf}
        />
      </div>
    </>
  );
}

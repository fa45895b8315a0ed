import { parameter, setParameters } from '../core/route.js';
import { loadNodes } from '../data/nodes.js';
import { nodeName, nodeParameter } from '../data/server-node.js';
import { usePolled } from './use-polled.js';

/** Returns the process that the address of the page names; undefined: the one that serves the page. */
export function chosenNode(): string | undefined {
  const named = parameter('node');
  return named === '' ? undefined : named;
}

/** Chooses a process of the cluster; nothing while there is only one. */
export function NodePicker() {
  const { value: nodes = [] } = usePolled(loadNodes, []);
  const chosen = chosenNode() ?? '';
  const known = nodes.flatMap((node) => {
    const value = nodeParameter(node);
    return value === undefined ? [] : [{ value, title: `${nodeName(node)} (${node.addr})` }];
  });
  if (known.length === 0 && chosen === '') return null;
  const isUnknown = chosen !== '' && !known.some(({ value }) => value === chosen);
  return (
    <label class="row tight">
      Node
      <select
        value={chosen}
        onChange={({ currentTarget: { value } }) => setParameters({ node: value === '' ? undefined : value })}
      >
        <option value="">this one</option>
        {isUnknown && <option value={chosen}>{chosen}</option>}
        {known.map(({ value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

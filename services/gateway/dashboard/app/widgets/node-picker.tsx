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
  return <NodeSelect label="Node" none="this one" chosen={chosenNode() ?? ''} parameterName="node" />;
}

/** What a list of processes is for. */
export interface NodeSelectProps {
  readonly label: string;
  /** What no choice means. */
  readonly none: string;
  readonly chosen: string;
  /** Parameter of the address that has the choice. */
  readonly parameterName: string;
}

/** A list of the processes of the cluster; nothing while there is only one. */
export function NodeSelect({ label, none, chosen, parameterName }: NodeSelectProps) {
  const { value: nodes = [] } = usePolled(loadNodes, []);
  const known = nodes.flatMap((node) => {
    const value = nodeParameter(node);
    return value === undefined ? [] : [{ value, title: `${nodeName(node)} (${node.addr})` }];
  });
  if (known.length === 0 && chosen === '') return null;
  const isUnknown = chosen !== '' && !known.some(({ value }) => value === chosen);
  return (
    <label class="row tight">
      {label}
      <select
        value={chosen}
        onChange={({ currentTarget: { value } }) =>
          setParameters({ [parameterName]: value === '' ? undefined : value })
        }
      >
        <option value="">{none}</option>
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

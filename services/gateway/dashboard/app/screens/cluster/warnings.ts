import { nodeName, type ServerNode } from '../../data/server-node.js';
import { bytesText } from '../../format/numbers.js';

/** Share of a disk below which its free space is a warning. */
const FREE_SHARE_MIN = 0.1;

/** Returns what an operator should know about a process. */
export function warningsOf(node: ServerNode): string[] {
  const { state, reachable, storage = {} } = node;
  const name = nodeName(node);
  if (state === 'left') return [];
  if (!reachable) return [state === 'gone' ? `${name} is gone` : `${name} does not reply`];
  return [
    ...(state === 'ready' ? [] : [`${name} is ${state}`]),
    ...diskWarning(`${name}: the disk of the segments`, storage['disk_free_bytes'], storage['disk_total_bytes']),
    ...diskWarning(`${name}: the disk of the log`, storage['log_disk_free_bytes'], storage['log_disk_total_bytes']),
  ];
}

function diskWarning(disk: string, free: number | undefined, total: number | undefined): string[] {
  if (free === undefined || total === undefined || free >= total * FREE_SHARE_MIN) return [];
  return [`${disk} has ${bytesText(free, 3)} of ${bytesText(total, 3)} left`];
}

import { readdirSync, readFileSync } from 'node:fs';

import { invariant } from '#shared/errors/invariant';

const MEBIBYTE = 1024 * 1024;
/** Linux's USER_HZ. */
const TICK_MS = 10;

/** User and system CPU time of all threads of a process since its start, in ms, in steps of 10. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program is in parentheses and may contain blanks; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The most memory that a process has held so far, in MiB, as the kernel counts it. */
export function peakMemoryMib(pid: number): number {
  return statusMib(pid, 'VmHWM');
}

/** The memory that a process holds now, in MiB. */
export function memoryMib(pid: number): number {
  return statusMib(pid, 'VmRSS');
}

function statusMib(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  invariant(line !== null, `process ${pid} has no ${field}`);
  return (Number(line[1]) * 1024) / MEBIBYTE;
}

/** Files in a folder and all below it. */
export function fileCount(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

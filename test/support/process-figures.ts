import { readdirSync, readFileSync } from 'node:fs';

import { invariant } from '#shared/errors/invariant';

const MEBIBYTE = 1024 * 1024;

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

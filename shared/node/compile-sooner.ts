import { setFlagsFromString } from 'node:v8';

/**
 * Lets V8 compile a function to fast code after one interval of work in it instead of three, and makes the interval a
 * seventh as long. The first thousand queries take half to two thirds of their time, and later ones no more; but a load of
 * two million rows takes some percent more CPU time, and the start of a worker thread 7 ms more.
 */
export function compileSooner(): void {
  // V8 12 (Node.js 22) does not have the first flag, and counts its intervals otherwise.
  if (!process.versions.v8.startsWith('11.')) return;
  setFlagsFromString('--ticks-before-optimization=1');
  setFlagsFromString('--interrupt-budget=10000');
}

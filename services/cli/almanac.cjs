#!/usr/bin/env node
process.env.UV_THREADPOOL_SIZE ??= '16'; // running queries hold threads of this pool; it is fixed at the first use
const { LOAD_FACTOR, loadProgram, setGrowthFactor } = require('./program.cjs');

const endLoad = limitYoungGeneration();

loadProgram()
  .then(({ run }) => {
    endLoad();
    return run();
  })
  .catch((error) => {
    const isMissing = error.code === 'ERR_MODULE_NOT_FOUND' && String(error.message).includes('services/cli/main.js');
    console.error(isMissing ? 'almanac is not compiled yet: run npm ci and npm run build first' : error);
    process.exitCode = 1;
  });

/**
 * Keeps the young generation of V8's heap at 8 MiB, where V8 would let it grow to 32 MiB while the program loads and
 * never shrink it: garbage is collected before it leaves the processor's caches, with the buffers that it holds. Loads
 * took 5 % less CPU time and 25 MiB less memory. A limit is only read when a process starts, but the factor of growth
 * can be changed at any time; it also applies to worker threads.
 *
 * @returns to be called when the program has loaded
 */
function limitYoungGeneration() {
  const { getHeapSpaceStatistics } = require('node:v8');
  const { PerformanceObserver } = require('node:perf_hooks');
  const bytesMax = 8 * 1024 * 1024;
  let factor = 0;
  const change = (next) => {
    if (next === factor) return;
    factor = next;
    setGrowthFactor(factor);
  };
  const adjust = () => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    change(young === undefined || young.space_size < bytesMax ? 2 : 1);
  };
  change(LOAD_FACTOR);
  new PerformanceObserver(adjust).observe({ entryTypes: ['gc'] });
  return () => change(1); // until the next collection is observed
}

#!/usr/bin/env node
process.env.UV_THREADPOOL_SIZE ??= '16'; // running queries hold threads of this pool; it is fixed at the first use

require('./program.cjs')
  .loadProgram()
  .then(({ run }) => run())
  .catch((error) => {
    const isMissing = error.code === 'ERR_MODULE_NOT_FOUND' && String(error.message).includes('services/cli/main.js');
    console.error(isMissing ? 'almanac is not compiled yet: run npm ci and npm run build first' : error);
    process.exitCode = 1;
  });

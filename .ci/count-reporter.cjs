'use strict';

const { writeFileSync } = require('node:fs');
const { reporters, Runner } = require('mocha');

/**
 * The usual output, each failure also at once, in case the run does not end, and `passed failed` in the file that the reporter
 * option `output` names.
 */
module.exports = class CountReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.on(Runner.constants.EVENT_TEST_FAIL, (test, error) => {
      console.log(`FAILED: ${test.fullTitle()}\n${error.stack ?? error.message}`);
    });
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures } = runner.stats;
      writeFileSync(options.reporterOptions.output, `${passes} ${failures}\n`);
    });
  }
};

'use strict';

const { writeFileSync } = require('node:fs');
const { reporters, Runner } = require('mocha');

/** The usual output, and `passed failed` in the file that the reporter option `output` names. */
module.exports = class CountReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures } = runner.stats;
      writeFileSync(options.reporterOptions.output, `${passes} ${failures}\n`);
    });
  }
};

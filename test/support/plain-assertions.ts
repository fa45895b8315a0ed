import { config } from 'chai';

/** Loaded by `.mocharc.json`. The compiler finds misspelt assertions; that each one also looks for them doubles its time. */
config.useProxy = false;

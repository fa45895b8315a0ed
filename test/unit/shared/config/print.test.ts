import { expect } from 'chai';

import { CONFIG_SCHEMA } from '#services/cli/config-schema';
import { loadConfig, type LoadedConfig } from '#shared/config/load';
import { printConfig, printDefaults } from '#shared/config/print';

function load(files: Record<string, string>, environment: Record<string, string> = {}): LoadedConfig {
  return loadConfig({
    schema: CONFIG_SCHEMA,
    role: 'standalone',
    flags: [],
    configFile: undefined,
    environment,
    machine: { memoryBytes: 2 ** 33, containerMemoryBytes: undefined },
    readText: (path) => files[path],
  });
}

describe('printConfig', () => {
  it('prints a file that yields the same configuration', () => {
    const first = load({
      './almanac.toml': '[http]\ntimeout = "1m 30s"\ncors_allowed_origins = ["https://a"]\n[wal]\ndir = "/x"',
    });
    const printed = printConfig(first, { withSources: false });
    expect(load({ './almanac.toml': printed }).config).to.deep.equal(first.config);
    expect(printed).to.contain('timeout = "1m 30s"\n');
    expect(printed).to.contain('limit = "4GiB"\n');
    expect(printed).to.match(/^enable_telemetry = false\n/);
  });

  it('omits keys without a value', () => {
    expect(printConfig(load({}), { withSources: false })).not.to.contain('upstream');
  });

  it('masks secrets, also in errors', () => {
    const file = (keys: string): Record<string, string> => ({ './almanac.toml': `[pipelines]\nkeys = "${keys}"` });
    const printed = printConfig(load(file('users = 0123456789abcdef')), { withSources: true });
    expect(printed)
      .to.match(/^keys = "\*\*\*" # /m)
      .and.not.to.contain('0123456789abcdef');
    expect(() => load(file('users = 0123456789')))
      .to.throw('pipelines.keys = ***')
      .with.property('message')
      .not.contain('0123');
    expect(() => load({}, { ALMANAC_PIPELINES__KEYS: 'topsecret' })).to.throw('pipelines.keys = ***');
  });

  it('names the source of each value', () => {
    const printed = printConfig(load({}, { ALMANAC_HTTP__ADDR: '127.0.0.1:0' }), { withSources: true });
    expect(printed).to.contain('addr = "127.0.0.1:0" # environment ALMANAC_HTTP__ADDR\n');
    expect(printed).to.contain('naming = "almanac" # default\n');
  });

  it('masks values from secret files, and passwords in URLs', () => {
    const environment = { ALMANAC_WAL__DIR_FILE: '/s', ALMANAC_DASHBOARD__UPSTREAM: 'http://me:hush@host/x' };
    const printed = printConfig(load({ '/s': 'hush' }, environment), { withSources: true });
    expect(printed).not.to.contain('hush');
    expect(printed).to.contain('dir = "***"');
    expect(printed).to.contain('upstream = "http://me:***@host/x"');
  });
});

describe('printDefaults', () => {
  it('shows each key once, commented out', () => {
    const printed = printDefaults(CONFIG_SCHEMA, 'standalone');
    const keys = printed.split('\n').filter((line) => /^# [a-z_]+ = /.test(line));
    expect(keys).to.have.length(CONFIG_SCHEMA.entries.length);
    expect(printed).to.contain('# bind_addr = "127.0.0.1:4001"\n');
    expect(printDefaults(CONFIG_SCHEMA, 'querier')).to.contain('# bind_addr = "127.0.0.1:4021"\n');
    expect(load({ './almanac.toml': printed }).config).to.deep.equal(load({}).config);
  });

  it('is a valid file when its keys are uncommented', () => {
    const active = printDefaults(CONFIG_SCHEMA, 'standalone').replace(/^# ([a-z_]+ = (?!"")[^\n]*)$/gm, '$1');
    expect(load({ './almanac.toml': active }).config).to.deep.equal(load({}).config);
  });
});

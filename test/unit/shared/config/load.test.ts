import { expect } from 'chai';

import { CONFIG_SCHEMA } from '#services/cli/config-schema';
import { loadConfig, type ConfigSources, type LoadedConfig } from '#shared/config/load';
import type { Role } from '#shared/config/role';
import { AlmanacError } from '#shared/errors/almanac-error';

const GIB = 1024 ** 3;

/** Loads from given files and environment, on a machine of 8 GiB without a container. */
function load(sources: Partial<ConfigSources> & { files?: Record<string, string> }): LoadedConfig {
  return loadConfig({
    schema: CONFIG_SCHEMA,
    role: 'standalone',
    flags: [],
    configFile: undefined,
    environment: {},
    machine: { memoryBytes: 8 * GIB, containerMemoryBytes: undefined },
    readText: (path) => sources.files?.[path],
    ...sources,
  });
}

function loadToml(text: string): LoadedConfig {
  return load({ files: { './almanac.toml': text } });
}

function problemsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    expect(error).to.be.instanceOf(AlmanacError);
    return AlmanacError.from(error).message.split('\n');
  }
  return [];
}

describe('loadConfig', () => {
  it('fills in defaults, typed and with units', () => {
    const { config, file } = load({});
    expect(file).to.equal(undefined);
    expect(config.naming).to.equal('almanac');
    expect(config.http.addr).to.equal('127.0.0.1:4000');
    expect(config.http.timeoutMs).to.equal(30_000);
    expect(config.http.bodyLimitBytes).to.equal(64 * 1024 * 1024);
    expect(config.http.maxResultBytes).to.equal(GIB);
    expect(config.http.corsAllowedOrigins).to.deep.equal([]);
    expect(config.wal.dir).to.equal(undefined);
    expect(config.storage.windowMs).to.equal(86_400_000);
    expect(config.memory.limitBytes).to.equal(4 * GIB);
  });

  it('takes 80 percent of a container for its memory limit, and percentages of it', () => {
    const machine = { memoryBytes: 8 * GIB, containerMemoryBytes: 2 * GIB };
    expect(load({ machine }).config.memory.limitBytes).to.equal(1638 * 1024 * 1024);
    const half = load({ machine, environment: { ALMANAC_MEMORY__LIMIT: '50%' } });
    expect(half.config.memory.limitBytes).to.equal(GIB);
  });

  it('reads sections within sections', () => {
    const file = '[http]\ntimeout = "5s"\n[http.tls]\nmode = "require"\ncert_path = "a.crt"\nkey_path = "a.key"\n';
    const environment = { ALMANAC_HTTP__TLS__CERT_PATH: 'b.crt', ALMANAC_STANDALONE__HTTP__TLS__WATCH: 'false' };
    const { config, origins } = load({ files: { './almanac.toml': file }, environment });
    expect(config['http.tls']).to.deep.equal({ mode: 'require', certPath: 'b.crt', keyPath: 'a.key', watch: false });
    expect(config.http.timeoutMs).to.equal(5_000);
    expect(origins.get('http.tls.key_path')?.place).to.equal('./almanac.toml:6:1');
    expect(problemsOf(() => loadToml('[http.tls]\nmod = "require"\n'))).to.deep.equal([
      './almanac.toml:2:1: unknown key "http.tls.mod"; did you mean "http.tls.mode"?',
    ]);
    expect(problemsOf(() => loadToml('[http]\ntls = true\n'))).to.deep.equal([
      './almanac.toml:2:1: "http.tls" is a section, write [http.tls]',
    ]);
  });

  it('requires the files of TLS that is turned on', () => {
    expect(problemsOf(() => loadToml('[grpc.tls]\nmode = "verify-ca"\nkey_path = "a.key"\n'))).to.deep.equal([
      'grpc.tls.mode = "verify-ca" needs grpc.tls.cert_path',
      'grpc.tls.mode = "verify-ca" needs grpc.tls.ca_cert_path',
    ]);
  });

  it('refuses credentials in URLs, without showing them', () => {
    for (const key of ['export_metrics.remote_write_url', 'logging.otlp_endpoint']) {
      const [section, name] = key.split('.');
      for (const url of ['http://root:secret@host:1/path', 'https://token@host']) {
        const [problem, ...others] = problemsOf(() => loadToml(`[${section}]\n${name} = "${url}"\n`));
        expect(others).to.deep.equal([]);
        expect(problem).to.contain(key).and.to.contain('credentials belong in').and.to.not.contain('secret');
      }
      const accepted = loadToml(`[${section}]\n${name} = "http://[::1]:9090/write?to=a@b"\n`);
      expect(accepted.origins.get(key)?.place).to.equal('./almanac.toml:2:1');
    }
  });

  it('keeps http.is_strict_mode and prom_store.prom_validation_mode consistent', () => {
    const modes = (environment: Record<string, string>, toml = ''): readonly [boolean, string] => {
      const { config } = load({ environment, files: { './almanac.toml': toml } });
      const { prom_store } = config as unknown as Record<'prom_store', { readonly promValidationMode: string }>;
      return [config.http.isStrictMode, prom_store.promValidationMode];
    };
    expect(modes({})).to.deep.equal([true, 'strict']);
    expect(modes({ ALMANAC_HTTP__IS_STRICT_MODE: 'false' })).to.deep.equal([false, 'lossy']);
    expect(modes({ ALMANAC_PROM_STORE__PROM_VALIDATION_MODE: 'lossy' })).to.deep.equal([false, 'lossy']);
    const both = { ALMANAC_HTTP__IS_STRICT_MODE: 'true', ALMANAC_PROM_STORE__PROM_VALIDATION_MODE: 'lossy' };
    expect(modes(both)).to.deep.equal([false, 'lossy']);
    // The alias of a stronger source overrides the mode of a weaker one.
    const strict = { ALMANAC_HTTP__IS_STRICT_MODE: 'true' };
    expect(modes(strict, '[prom_store]\nprom_validation_mode = "lossy"\n')).to.deep.equal([true, 'strict']);
  });

  it('has defaults that differ by role', () => {
    const ports = { standalone: 4001, gateway: 4001, ingester: 4011, querier: 4021, metadata: 4031 };
    for (const [role, port] of Object.entries(ports)) {
      const { grpc, cluster } = load({ role: role as Role }).config;
      expect(grpc.bindAddr).to.equal(`127.0.0.1:${port}`);
      expect(cluster.regions).to.equal(role === 'standalone' ? 1 : 4);
    }
    const { config } = load({});
    expect(config.grpc.maxMessageSizeBytes).to.equal(128 * 1024 * 1024);
    expect(config.metadata.addr).to.equal('127.0.0.1:4031');
    expect(config.node.advertiseAddr).to.equal(undefined);
    expect(config.cluster.leaseMs).to.equal(10_000);
    expect(config.shutdown).to.deep.equal({ timeoutMs: 60_000, delayMs: 0 });
  });

  it('lets flags override the environment, and the environment override the file', () => {
    const files = { './almanac.toml': '[http]\naddr = "127.0.0.1:1"\ntimeout = "1s"\nbody_limit = "1MiB"' };
    const environment = { ALMANAC_HTTP__ADDR: '127.0.0.1:2', ALMANAC_HTTP__TIMEOUT: '2s' };
    const flags = [{ flag: '--http-addr', path: 'http.addr', value: '127.0.0.1:3' }];
    const { config, origins } = load({ files, environment, flags });
    expect(config.http.addr).to.equal('127.0.0.1:3');
    expect(config.http.timeoutMs).to.equal(2_000);
    expect(config.http.bodyLimitBytes).to.equal(1024 * 1024);
    expect(origins.get('http.addr')?.place).to.equal('flag --http-addr');
    expect(origins.get('http.timeout')?.place).to.equal('environment ALMANAC_HTTP__TIMEOUT');
    expect(origins.get('http.body_limit')?.place).to.equal('./almanac.toml:4:1');
    expect(origins.get('wal.sync')?.place).to.equal('default');
  });

  it('lets the name for one role override the name for all, and ignores other roles', () => {
    const environment = {
      ALMANAC_STANDALONE__WAL__SYNC: 'none',
      ALMANAC_WAL__SYNC: 'interval',
      ALMANAC_QUERIER__WAL__FILE_SIZE: '1MiB',
      ALMANAC_STANDALONE__NAMING: 'greptime',
    };
    const { config } = load({ environment });
    expect(config.wal.sync).to.equal('none');
    expect(config.wal.fileSizeBytes).to.equal(64 * 1024 * 1024);
    expect(config.naming).to.equal('greptime');
  });

  it('reads a section named like a role', () => {
    const { config } = load({ environment: { ALMANAC_INGESTER__FLUSH_BYTES: '1MiB' } });
    expect(config.ingester.flushBytes).to.equal(1024 * 1024);
  });

  it('ignores names without two underscores and refuses unknown ones with them', () => {
    expect(
      load({ environment: { ALMANAC_PORT: 'tcp://10.0.0.1:4000', ALMANAC_SERVICE_HOST: 'x' } }).warnings,
    ).to.deep.equal([]);
    const problems = problemsOf(() => load({ environment: { ALMANAC_HTTP__ADR: 'x' } }));
    expect(problems).to.deep.equal(['environment ALMANAC_HTTP__ADR: unknown key; did you mean "ALMANAC_HTTP__ADDR"?']);
  });

  it('refuses names that differ from a key only by the number of underscores', () => {
    for (const [name, meant] of [
      ['ALMANAC_USER_PROVIDER', 'ALMANAC__USER_PROVIDER'],
      ['ALMANAC_USER_PROVIDER_FILE', 'ALMANAC__USER_PROVIDER'],
      ['ALMANAC_STANDALONE_USER_PROVIDER', 'ALMANAC_STANDALONE__USER_PROVIDER'],
      ['ALMANAC_HTTP_ADDR', 'ALMANAC_HTTP__ADDR'],
    ]) {
      const problems = problemsOf(() => load({ environment: { [name]: 'x' } }));
      expect(problems).to.deep.equal([`environment ${name}: unknown key; did you mean "${meant}"?`]);
    }
  });

  it('splits lists at unescaped commas', () => {
    const { config } = load({ environment: { ALMANAC_HTTP__CORS_ALLOWED_ORIGINS: 'https://a, https://b\\,c' } });
    expect(config.http.corsAllowedOrigins).to.deep.equal(['https://a', 'https://b,c']);
  });

  it('reads texts from secret files, without the last line break', () => {
    const files = {
      '/run/secrets/dir': '/var/wal\n',
      './almanac.toml': '[storage]\ndata_home = "file:/run/secrets/dir"',
    };
    const { config, origins } = load({ files, environment: { ALMANAC_WAL__DIR_FILE: '/run/secrets/dir' } });
    expect(config.wal.dir).to.equal('/var/wal');
    expect(config.storage.dataHome).to.equal('/var/wal');
    expect(origins.get('wal.dir')?.isSecret).to.equal(true);
    expect(problemsOf(() => load({ environment: { ALMANAC_WAL__DIR_FILE: '/none' } }))).to.deep.equal([
      'environment ALMANAC_WAL__DIR_FILE: there is no file "/none"',
    ]);
  });

  it('looks for the file in the documented order', () => {
    const files = { 'a.toml': 'naming = "greptime"', './almanac.toml': '', '/etc/almanac/almanac.toml': '' };
    expect(load({ files, configFile: 'a.toml' }).file).to.equal('a.toml');
    expect(load({ files, environment: { ALMANAC_CONFIG_FILE: 'a.toml' } }).file).to.equal('a.toml');
    expect(load({ files }).file).to.equal('./almanac.toml');
    expect(load({ files: { '/etc/almanac/almanac.toml': '' } }).file).to.equal('/etc/almanac/almanac.toml');
    expect(problemsOf(() => load({ configFile: 'no.toml' }))).to.deep.equal([
      'there is no configuration file "no.toml"',
    ]);
  });

  it('reports all problems of a file with line, column, key, value and allowed values', () => {
    const problems = problemsOf(() =>
      loadToml(
        'naming = "x"\n\n[http]\n  timeout = "soon"\nadr = "1"\n[memory]\nlimit = true\n[wal]\nsync_interval="2h"',
      ),
    );
    expect(problems).to.deep.equal([
      './almanac.toml:5:1: unknown key "http.adr"; did you mean "http.addr"?',
      './almanac.toml:1:1: naming = "x": not one of the choices; allowed: one of "almanac", "greptime"',
      './almanac.toml:4:3: http.timeout = "soon": invalid duration "soon": expected a whole number and a unit, as in "1h 30m"; allowed: a duration such as "30s" or "1h 30m"',
      './almanac.toml:9:1: wal.sync_interval = "2h": too large; allowed: a duration such as "30s" or "1h 30m", from 1ms to 1h',
      './almanac.toml:7:1: memory.limit = true: not a text in quotes; allowed: a size such as "4GiB" or a share of the memory such as "50%", at least 128MiB',
    ]);
  });

  it('reports the position of syntax errors and repeated keys', () => {
    expect(problemsOf(() => loadToml('a = '))[0]).to.match(/^\.\/almanac\.toml:1:5: not valid TOML: Expected/);
    expect(problemsOf(() => loadToml('naming="almanac"\nnaming="almanac"'))[0]).to.equal(
      "./almanac.toml:2:1: not valid TOML: Cannot redefine existing key 'naming'.",
    );
  });

  it('refuses a section written as a value, unknown sections, and values of a wrong type', () => {
    expect(problemsOf(() => loadToml('http = 1'))).to.deep.equal([
      './almanac.toml:1:1: "http" is a section, write [http]',
    ]);
    expect(problemsOf(() => loadToml('[htp]\na = 1'))).to.deep.equal([
      './almanac.toml:1:1: unknown key "htp"; did you mean "http"?',
    ]);
    expect(problemsOf(() => loadToml('naming = 2020-01-01T00:00:00Z'))[0]).to.contain('a value of a wrong type');
    expect(problemsOf(() => loadToml('[query]\nqueue = 1.5'))[0]).to.contain('not a whole number');
    expect(problemsOf(() => loadToml('auto_create_table = "yes"'))[0]).to.contain('allowed: true or false');
  });

  it('warns about sections of other products', () => {
    expect(loadToml('[mysql]\nenable = true').warnings).to.deep.equal([
      './almanac.toml:1:1: "mysql" has no meaning here and is ignored',
    ]);
  });

  it('accepts dotted keys and inline tables', () => {
    expect(loadToml('http.addr = "127.0.0.1:9"').config.http.addr).to.equal('127.0.0.1:9');
    expect(loadToml('http = { addr = "[::1]:9" }').config.http.addr).to.equal('[::1]:9');
  });

  it('refuses malformed addresses, percentages and filters', () => {
    const bad = {
      ALMANAC__DEFAULT_TIMEZONE: 'Mars',
      ALMANAC_HTTP__ADDR: '127.0.0.1:70000',
      ALMANAC_MEMORY__LIMIT: '101%',
      ALMANAC_LOGGING__LEVEL: 'info,gateway=loud',
    };
    const problems = problemsOf(() => load({ environment: bad }));
    expect(problems).to.have.length(4);
    expect(problems[0]).to.contain('Invalid timezone string: "Mars"');
    expect(problems[1]).to.contain('http.addr = "127.0.0.1:70000": not host:port');
    expect(problems[2]).to.contain('more than all of the memory');
    expect(problems[3]).to.contain('a level filter');
  });

  it('refuses addresses that can only be listened on where one is called', () => {
    const reasons = {
      'metadata:0': 'port 0',
      '0.0.0.0:4031': 'listening only',
      '[::]:4031': 'listening only',
      x: 'host:port',
    };
    for (const [value, reason] of Object.entries(reasons)) {
      for (const name of ['ALMANAC_METADATA__ADDR', 'ALMANAC_NODE__ADVERTISE_ADDR']) {
        const [problem] = problemsOf(() => load({ environment: { [name]: value } }));
        expect(problem).to.contain(`environment ${name}`).and.to.contain(reason);
      }
    }
    const environment = { ALMANAC_METADATA__ADDR: 'metadata:4031', ALMANAC_NODE__ADVERTISE_ADDR: '[fd00::5]:4011' };
    const { config } = load({ environment });
    expect([config.metadata.addr, config.node.advertiseAddr]).to.deep.equal(['metadata:4031', '[fd00::5]:4011']);
  });

  it('refuses contradictory settings', () => {
    expect(problemsOf(() => loadToml('[memory]\nquery_percent = 50'))).to.deep.equal([
      'the shares of memory.limit add up to 110 percent; allowed: at most 100',
    ]);
    expect(problemsOf(() => loadToml('[query]\ntimeout = "11m"'))).to.deep.equal([
      'query.timeout is longer than query.max_timeout',
    ]);
    expect(problemsOf(() => loadToml('[storage]\ngc_grace = "10m"'))).to.have.length(1);
    expect(problemsOf(() => loadToml('[shutdown]\ndelay = "60s"'))).to.deep.equal([
      'shutdown.delay must be shorter than shutdown.timeout',
    ]);
  });
});

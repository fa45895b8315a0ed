import { expect } from 'chai';

import { CONFIG_SCHEMA } from '#services/cli/config-schema';
import { loadConfig, type LoadedConfig } from '#shared/config/load';
import { ROLES, type Role } from '#shared/config/role';
import {
  composeProcess,
  DATA_FOLDER,
  imageEnvironment,
  readCompose,
  readDockerfile,
  type ComposeService,
} from '#test/support/compose';
import { pollUntil, HttpApi } from '#test/support/almanac';
import { Member, type ClusterRole } from '#test/support/cluster';
import { freePort } from '#test/support/free-port';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const SCALED = ['ingester', 'querier'];
const CLUSTER: readonly ClusterRole[] = ['metadata', 'ingester', 'querier', 'gateway'];

/** The configuration that a container of a role would have, on a machine of 4 GiB. */
function load(role: Role, environment: Readonly<Record<string, string>>): LoadedConfig {
  return loadConfig({
    schema: CONFIG_SCHEMA,
    role,
    flags: [],
    configFile: undefined,
    environment,
    machine: { memoryBytes: 2 ** 32, containerMemoryBytes: undefined },
    readText: () => undefined,
  });
}

function loadOf(service: ComposeService): LoadedConfig {
  return load(service.command[0], { ...imageEnvironment(), ...service.environment });
}

describe('docker-compose.yml', () => {
  const { services, volumes } = readCompose();

  it('has the four roles, and a profile with everything in one process', () => {
    expect(Object.keys(services).sort()).to.deep.equal([...ROLES].sort());
    const withProfile = Object.entries(services).filter(([, { profiles }]) => profiles !== undefined);
    expect(withProfile.map(([name]) => name)).to.deep.equal(['standalone']);
  });

  for (const [name, service] of Object.entries(services)) {
    it(`${name}: runs a command of the program, and its health check names the same role`, async () => {
      expect(service.command).to.deep.equal([name]);
      expect(service.healthcheck.test).to.deep.equal(['CMD', 'almanac', 'health', name]);
      const { args, healthArgs } = composeProcess(service, {
        dataFolder: '/tmp/none',
        metadataPort: 1,
        grpcPort: 2,
        httpPort: 3,
      });
      for (const command of [args, healthArgs]) {
        const { code, stderr } = await runAlmanac([...command, '--help']);
        expect(code, stderr).to.equal(0);
      }
    });

    it(`${name}: its environment is a valid configuration without warnings`, () => {
      const { config, origins, warnings } = loadOf(service);
      expect(warnings).to.deep.equal([]);
      for (const key of Object.keys(service.environment)) expect(key).to.match(/^ALMANAC_[A-Z]+__[A-Z_]+$/);
      expect(config.storage.dataHome).to.equal(DATA_FOLDER);
      expect(config.http.addr).to.equal('0.0.0.0:4000');
      const kind = origins.get('grpc.bind_addr')?.kind;
      expect(kind).to.equal(name === 'standalone' ? 'default' : 'role environment');
    });

    it(`${name}: drops all capabilities that it does not need, and gets the time to stop`, () => {
      expect(service).to.deep.include({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        restart: 'unless-stopped',
        build: { context: '.', dockerfile: 'deploy/Dockerfile' },
      });
      expect(service.tmpfs).to.include('/tmp');
      const graceMs = Number(service.stop_grace_period?.replace('s', '')) * 1000;
      expect(graceMs).to.be.greaterThan(loadOf(service).config.shutdown.timeoutMs);
      expect(service.container_name).to.equal(undefined);
    });
  }

  it('publishes the gateway only, on loopback', () => {
    for (const name of [...SCALED, 'metadata']) expect(services[name].ports, name).to.equal(undefined);
    expect(services['gateway'].ports).to.deep.equal(['127.0.0.1:4000:4000']);
    expect(readCompose({ ALMANAC_PORT: '4310' }).services['gateway'].ports).to.deep.equal(['127.0.0.1:4310:4000']);
  });

  it('lets the services reach each other by name, on the ports that they listen on', () => {
    for (const name of CLUSTER) {
      const { metadata, grpc } = loadOf(services[name]).config;
      const port = grpc.bindAddr.replace('0.0.0.0:', '');
      expect(services[name].expose, name).to.deep.equal([port]);
      if (name === 'metadata') expect(port).to.equal('4031');
      else expect(metadata.addr).to.equal('metadata:4031');
      if (name !== 'metadata') expect(services[name].depends_on).to.have.property('metadata');
    }
  });

  it('shares one named volume between the services that store or read data', () => {
    for (const name of ['metadata', ...SCALED]) {
      expect(services[name].volumes, name).to.deep.equal([`data:${DATA_FOLDER}`]);
    }
    expect(services['gateway'].volumes).to.equal(undefined);
    expect(services['gateway'].tmpfs).to.include(DATA_FOLDER);
    // Its folder has a lock of its own and must not be that of a cluster.
    expect(services['standalone'].volumes).to.deep.equal([`standalone:${DATA_FOLDER}`]);
    expect(Object.keys(volumes).sort()).to.deep.equal(['data', 'standalone']);
  });

  it('starts as processes, with folders and ports of the test', () => {
    const places = { dataFolder: '/tmp/none', metadataPort: 11, grpcPort: 22, httpPort: 33 };
    for (const name of CLUSTER) {
      const { role, environment } = composeProcess(services[name], places);
      const { config } = load(role, environment);
      expect(config.storage.dataHome).to.equal('/tmp/none');
      expect(config.grpc.bindAddr).to.equal('127.0.0.1:22');
      expect(config.http.addr).to.equal('127.0.0.1:33');
      if (name !== 'metadata') expect(config.metadata.addr).to.equal('127.0.0.1:11');
    }
  });
});

describe('the cluster of docker-compose.yml, as processes', function () {
  this.timeout(60_000);
  const cleanUps: (() => void)[] = [];
  const members: Member[] = [];

  afterEach(async () => {
    await Promise.all(members.splice(0).map((member) => member.kill()));
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  it('becomes healthy, accepts rows, serves queries, and stops cleanly', async () => {
    const { services } = readCompose();
    const dataFolder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const [metadataPort, httpPort] = await Promise.all([freePort(), freePort()]);
    const probes: (() => Promise<boolean>)[] = [];
    for (const role of [...CLUSTER, ...SCALED] as ClusterRole[]) {
      const grpcPort = role === 'metadata' ? metadataPort : await freePort();
      const process = composeProcess(services[role], { dataFolder, metadataPort, grpcPort, httpPort });
      const member = new Member(process.role as ClusterRole, role, process.args.slice(1), process.environment);
      members.push(member);
      member.start();
      // A probe is a process: before the member says that it is ready, one would only take CPU time from it.
      const probe = async (): Promise<boolean> => (await runAlmanac(process.healthArgs, process)).code === 0;
      probes.push(async () => member.stderr.includes('"ready"') && (await probe()));
    }
    const words = (): string => members.map(({ name, stderr }) => `== ${name}\n${stderr.slice(-3000)}`).join('\n');
    for (const probe of probes) expect(await pollUntil(performance.now() + 40_000, probe), words()).to.equal(true);

    const gateway = new HttpApi(`http://127.0.0.1:${httpPort}`);
    const lines = Array.from({ length: 1000 }, (_, i) => `cpu,host=h${i % 20} n=${i}i ${i + 1}`);
    expect(await gateway.write(lines.join('\n'))).to.deep.include({ status: 204, text: '' });
    const { rows, text } = await gateway.sql('SELECT count(*), sum(n) FROM cpu');
    expect(rows, text).to.deep.equal([[1000, 499_500]]);

    // The order of `docker compose stop`: what others depend on comes last.
    const [metadata, ...others] = members;
    const codes = await Promise.all(others.map((member) => member.stop()));
    expect([...codes, await metadata.stop()], words()).to.deep.equal(members.map(() => 0));
  });
});

describe('deploy/Dockerfile', () => {
  const lines = readDockerfile().split('\n');

  it('sets a valid environment for every role', () => {
    for (const role of ROLES) expect(load(role, imageEnvironment()).warnings, role).to.deep.equal([]);
  });

  it('exposes every port that a role listens on', () => {
    const exposed = (lines.find((line) => line.startsWith('EXPOSE ')) ?? '').split(' ');
    for (const role of ROLES) {
      const { http, grpc } = load(role, imageEnvironment()).config;
      expect(exposed).to.include.members([http, grpc].map((section) => portOf(section)));
    }
    expect(exposed).to.include('4006');
  });

  it('runs as a numeric user without a shell, and has a health check', () => {
    expect(lines).to.include.members([
      'USER 10001:10001',
      'STOPSIGNAL SIGTERM',
      'ENTRYPOINT ["almanac"]',
      'CMD ["standalone"]',
      `VOLUME ${DATA_FOLDER}`,
    ]);
    expect(readDockerfile()).to.match(/^HEALTHCHECK .* CMD \["almanac", "health"\]$/m);
  });
});

function portOf(section: { readonly addr: string } | { readonly bindAddr: string }): string {
  const address = 'addr' in section ? section.addr : section.bindAddr;
  return address.slice(address.lastIndexOf(':') + 1);
}

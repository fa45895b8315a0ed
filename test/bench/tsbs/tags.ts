import type { SeededRandom } from './seeded-random.js';

/** The tags of TSBS *cpu-only*, in the order in which its lines carry them. */
export const TAG_NAMES = [
  'hostname',
  'region',
  'datacenter',
  'rack',
  'os',
  'arch',
  'team',
  'service',
  'service_version',
  'service_environment',
] as const;

/** Values in the order of `TAG_NAMES`. */
export type HostTags = readonly string[];

/** Each region with the letters of its datacenters: `us-east-1` has `us-east-1a`, `us-east-1b`, .. */
const REGIONS: readonly (readonly [name: string, datacenters: string])[] = [
  ['us-east-1', 'abce'],
  ['us-west-1', 'ab'],
  ['us-west-2', 'abc'],
  ['eu-west-1', 'abc'],
  ['eu-central-1', 'ab'],
  ['ap-southeast-1', 'ab'],
  ['ap-southeast-2', 'ab'],
  ['ap-northeast-1', 'ac'],
  ['sa-east-1', 'abc'],
];
const OPERATING_SYSTEMS = ['Ubuntu16.10', 'Ubuntu16.04LTS', 'Ubuntu15.10'];
const ARCHITECTURES = ['x64', 'x86'];
const TEAMS = ['SF', 'NYC', 'LON', 'CHI'];
const ENVIRONMENTS = ['production', 'staging', 'test'];
const RACK_COUNT = 100;
const SERVICE_COUNT = 20;
const SERVICE_VERSION_COUNT = 2;

/** The tags of one host; only `hostname` tells hosts apart for certain. */
export function drawHostTags(host: number, random: SeededRandom): HostTags {
  const [region, datacenters] = random.pick(REGIONS);
  return [
    `host_${host}`,
    region,
    `${region}${datacenters[random.below(datacenters.length)]}`,
    String(random.below(RACK_COUNT)),
    random.pick(OPERATING_SYSTEMS),
    random.pick(ARCHITECTURES),
    random.pick(TEAMS),
    String(random.below(SERVICE_COUNT)),
    String(random.below(SERVICE_VERSION_COUNT)),
    random.pick(ENVIRONMENTS),
  ];
}

import { COLUMNS_MAX } from '#shared/schema/names';
import { parseZone } from '#shared/time/zone';

import {
  address,
  duration,
  flag,
  integer,
  oneOf,
  optionalPeerAddress,
  optionalText,
  peerAddress,
  percentOrSize,
  secretText,
  size,
  text,
  textList,
  wholeMebibytes,
  type Key,
  type Machine,
} from './key.js';
import { TELEMETRY_KEYS } from './telemetry-keys.js';
import { GRPC_TLS_KEYS, HTTP_TLS_KEYS } from './tls-keys.js';

/**
 * Every configuration key but those of protocols, in the order in which they are printed. The section `top` has the
 * keys above the first `[section]` of a file.
 */
export const SCHEMA = {
  top: {
    enable_telemetry: flag({
      default: false,
      doc: 'Accepted for compatibility. Almanac never sends usage figures; true only logs a warning.',
    }),
    user_provider: text({
      default: '',
      shown: (value) => value.replace(/^(static_user_provider:cmd:).*$/s, '$1***'),
      doc: 'Users: static_user_provider:file:PATH, watch_file_user_provider:PATH or static_user_provider:cmd:USER=PASSWORD,.. Empty: everyone may do everything.',
    }),
    default_timezone: text({
      default: 'UTC',
      check: parseZone,
      allowed: 'an IANA name such as "Europe/Berlin", or an offset such as "+02:00"',
      doc: 'Default time zone of sessions.',
    }),
    naming: oneOf(['almanac', 'greptime'], {
      default: 'almanac',
      doc: "Names of generated catalogs, columns and headers: Almanac's own, or those of GreptimeDB.",
    }),
    default_column_prefix: text({
      default: '',
      doc: 'Prefix of generated columns: "x" creates x_timestamp and x_value. Empty: as set by `naming`.',
    }),
    auto_create_table: flag({
      default: true,
      doc: 'Create missing tables and columns on write.',
    }),
    init_regions_in_background: flag({
      default: { standalone: false, gateway: false, ingester: true, querier: false, metadata: false },
      doc: 'Open all regions of this process after its start (up to 4,096, or 1 million series), so that the first request for each does not wait for it. false: regions open at first use.',
    }),
    init_regions_parallelism: integer({
      default: 16,
      min: 1,
      max: 1_024,
      doc: 'Regions that are opened at once in the background: after the start, and when a region is granted to an ingester.',
    }),
  },
  http: {
    addr: address({ default: '127.0.0.1:4000', doc: 'Main listener: every endpoint. Port 0 selects a free port.' }),
    timeout: duration({ default: '30s', doc: 'Default timeout of a request. 0s: no limit.' }),
    body_limit: size({ default: '64MiB', doc: 'Largest request body, before and after decompression. 0: no limit.' }),
    is_strict_mode: flag({
      default: true,
      doc: 'Former name of prom_store.prom_validation_mode: true is strict, false is lossy.',
    }),
    cors_allowed_origins: textList({ default: [], doc: 'Origins from which browsers may call. Empty: any.' }),
    enable_cors: flag({ default: true, doc: 'Allow cross-origin requests from browsers.' }),
    max_concurrent_requests: integer({
      default: 1024,
      min: 1,
      max: 1_000_000,
      doc: 'Largest number of concurrent requests; more get 503.',
    }),
    max_result_bytes: size({ default: '1GiB', min: '1KiB', doc: 'Largest result of one query.' }),
    enable_api_server: flag({
      default: false,
      doc: 'Also open the public listener: data and dashboard only, no administration.',
    }),
    api_server_addr: address({ default: '127.0.0.1:4006', doc: 'Public listener.' }),
  },
  'http.tls': HTTP_TLS_KEYS,
  storage: {
    data_home: text({
      default: './almanac-data',
      doc: 'Data folder. It may be used by one standalone process at a time, or by all processes of one cluster.',
    }),
    copy_root: optionalText({
      doc: 'Folder in which COPY and external tables of SQL may read and write files. It must not hold files of the data folder. Unset: none may.',
    }),
    window: duration({ default: '1d', min: '1m', max: '1y', doc: 'Time range covered by one segment.' }),
    gc_grace: duration({
      default: '15m',
      min: '1s',
      doc: 'How long replaced files are kept. Must be longer than query.max_timeout.',
    }),
  },
  wal: {
    dir: optionalText({ doc: 'Folder of the write-ahead log. Unset: inside the data folder.' }),
    sync: oneOf(['group', 'interval', 'none'], {
      default: 'group',
      doc: 'When a write is acknowledged. group: after a disk sync shared with concurrent writes; interval and none: before a sync.',
    }),
    sync_interval: duration({
      default: '1s',
      min: '1ms',
      max: '1h',
      doc: 'Time between syncs if sync = "interval".',
    }),
    recover: oneOf(['strict', 'skip-corrupt'], {
      default: 'strict',
      doc: 'What to do at start if the log is damaged, missing or another one. strict: refuse to start; skip-corrupt: start without the rows that cannot be read.',
    }),
    file_size: size({ default: '64MiB', min: '64KiB', max: '4GiB', doc: 'Size at which a new log file is started.' }),
    purge_threshold: size({
      default: '1GiB',
      min: '1MiB',
      doc: 'Size of the log above which tables are flushed early.',
    }),
    retry_window: duration({
      default: '5m',
      min: '1s',
      max: '1d',
      doc: 'How long a repeated write is recognised and not applied twice.',
    }),
  },
  ingester: {
    flush_bytes: size({
      default: '192MiB',
      min: '64KiB',
      doc: 'Memory of a region at which its rows are flushed to a segment. 3 million rows are flushed at any size.',
    }),
    flush_interval: duration({
      default: '10m',
      min: '1s',
      doc: 'Age of rows in memory at which they are flushed to a segment.',
    }),
    compaction: flag({
      default: true,
      doc: "Merge small segments in the background. False: merge only by ADMIN compact_table('t').",
    }),
  },
  grpc: {
    bind_addr: address({
      default: {
        standalone: '127.0.0.1:4001',
        gateway: '127.0.0.1:4001',
        ingester: '127.0.0.1:4011',
        querier: '127.0.0.1:4021',
        metadata: '127.0.0.1:4031',
      },
      doc: 'Listener for the other processes of a cluster. Port 0 selects a free port. Standalone: not used.',
    }),
    max_message_size: size({
      default: '128MiB',
      min: '1MiB',
      max: '1GiB',
      doc: 'Largest message between processes; must be equal in all of them. Standalone: not used.',
    }),
    secret: secretText({
      pattern: /^[^]{16,1024}$/,
      allowed: 'a text of 16 to 1024 characters',
      doc: 'Secret of the cluster, equal in all its processes: calls without it are refused. Unset: every caller that reaches grpc.bind_addr may do everything.',
    }),
  },
  'grpc.tls': GRPC_TLS_KEYS,
  metadata: {
    addr: peerAddress({
      default: '127.0.0.1:4031',
      doc: 'Address of the metadata process. Gateway, ingester and querier only.',
    }),
  },
  node: {
    advertise_addr: optionalPeerAddress({
      doc: 'Address at which the others call this process. Unset: grpc.bind_addr; in place of 0.0.0.0 or [::] the address from which it reaches metadata.addr, or the host name if that is on the same machine. Standalone: not used.',
    }),
  },
  cluster: {
    lease: duration({
      default: '10s',
      min: '1s',
      max: '10m',
      doc: 'How long an unresponsive process keeps its regions. Metadata only.',
    }),
    regions: integer({
      default: { standalone: 1, gateway: 4, ingester: 4, querier: 4, metadata: 4 },
      min: 1,
      max: 256,
      doc: 'Number of regions of a new table, and so the largest number of ingesters that can share it. Metadata and standalone only.',
    }),
  },
  shutdown: {
    timeout: duration({
      default: '60s',
      min: '1s',
      max: '1h',
      doc: 'Longest time from the first stop signal to the exit. Rows that are not flushed by then remain in the log.',
    }),
    delay: duration({
      default: '0s',
      max: '10m',
      doc: 'How long to report "not ready" and still accept requests before the listeners close; 5s suits Kubernetes.',
    }),
  },
  query: {
    timeout: duration({
      default: '60s',
      min: '1ms',
      doc: 'Default timeout of a query; over HTTP that of http.timeout if it is shorter.',
    }),
    max_timeout: duration({
      default: '10m',
      min: '1ms',
      doc: 'Longest timeout that a query may request, and longest of the default ones, also of promql.timeout.',
    }),
    max_concurrent: integer({ default: 4, min: 1, max: 1_000, doc: 'Largest number of concurrent queries.' }),
    queue: integer({ default: 64, min: 0, max: 100_000, doc: 'Largest number of waiting queries; more get 429.' }),
    parallelism: integer({ default: 0, min: 0, max: 1_024, doc: 'Threads of the query engine. 0: one per core.' }),
    kernels: flag({
      default: true,
      doc: 'Run the usual queries over time series without the query engine.',
    }),
    thread_min_values: integer({
      default: 67_108_864,
      min: 1,
      max: 1_000_000_000_000,
      doc: 'Number of values (rows times columns) from which kernels read the segments of a query in worker threads; their number is that of parallelism.',
    }),
    result_cache: size({
      default: '32MiB',
      doc: 'Memory for results of queries that kernels ran, which are used again while the rows of their tables are the same; at most a twentieth of the memory for queries. 0B: no cache.',
    }),
    warm_up: flag({
      default: true,
      doc: 'Keep the texts of the latest queries in the data folder at a stop, and run them again for up to 2.5 s after the start, so that the first queries of clients are as fast as later ones.',
    }),
    plan_cache_entries: integer({
      default: 1_000,
      min: 0,
      max: 1_000_000,
      doc: 'Number of query plans cached for reuse.',
    }),
  },
  flow: {
    interval: duration({
      default: '1s',
      min: '10ms',
      max: '1d',
      doc: 'Pause between two looks of a flow without EVAL INTERVAL for changed rows.',
    }),
  },
  promql: {
    lookback: duration({
      default: '5m',
      min: '1ms',
      max: '1y',
      doc: 'Default lookback: how far back a selector looks for the newest sample.',
    }),
    timeout: duration({
      default: '2m',
      min: '1ms',
      doc: 'Longest time for one query. A query may request less, never more.',
    }),
    max_samples: integer({
      default: 50_000_000,
      min: 1,
      max: 1_000_000_000,
      doc: 'Largest number of samples that a query holds at once: samples read, and one for each step of each series.',
    }),
    experimental: flag({
      default: true,
      doc: 'Allow functions, aggregations and modifiers that Prometheus marks as experimental.',
    }),
    result_cache: size({
      default: '64MiB',
      min: '0B',
      doc: 'Memory for cached results of range queries, of which a later query recomputes only what is new or changed; at most a fifth of the memory for caches. 0B: no cache.',
    }),
  },
  memory: {
    limit: percentOrSize({
      default: defaultMemoryLimit,
      min: '128MiB',
      doc: "Memory limit of the process. 384 MiB are for the program, and 20% of the rest for memory that is freed but not returned (both together at most half); the percentages below divide what remains. Unset: 80% of a container's limit, otherwise half of the machine.",
    }),
    enable_heap_profiling: flag({
      default: false,
      doc: 'Sample allocations from the start, for /debug/prof/mem. It can also be turned on while the process runs.',
    }),
    memtable_percent: percent(25, 'rows that are not in a segment yet.'),
    query_percent: percent(
      40,
      'queries: a fifth for indexes of series, a fifth for kernels, the rest for the SQL engine; of that, half of what ' +
        'exceeds 128 MiB is for decoded columns.',
    ),
    engine_percent: percent(15, 'SQL engine that writes and merges segments.'),
    cache_percent: percent(10, 'caches.'),
    body_percent: percent(10, 'bodies of running requests.'),
  },
  ...TELEMETRY_KEYS,
  limits: {
    max_tables_per_database: integer({
      default: 100_000,
      min: 1,
      max: 10_000_000,
      doc: 'Largest number of tables of a database; a write or statement that needs another one is refused. Metrics in one physical table count as one.',
    }),
    max_columns_per_table: integer({
      default: COLUMNS_MAX,
      min: 2,
      max: COLUMNS_MAX,
      doc: 'Largest number of columns of a table, tags and time index among them; a write or statement that needs another one is refused. Metadata and standalone only.',
    }),
    max_series_per_table: integer({
      default: 10_000_000,
      min: 0,
      max: 4_000_000_000,
      doc: 'Largest number of series of a table, divided evenly over its regions; rows of further series are refused. All metrics in one physical table count together. 0: no limit. A series takes 60 bytes of memory and more. Ingester and standalone only.',
    }),
    user_requests_per_second: integer({
      default: 0,
      min: 0,
      max: 1_000_000,
      doc: 'Requests of one user that a gateway accepts a second, averaged over ten seconds; more get 429. 0: no limit.',
    }),
  },
  auth: {
    admin: oneOf(['auto', 'open', 'loopback', 'required'], {
      default: 'auto',
      doc: 'Who may use the paths of the administration, if there are users. open: everyone; loopback: clients on this machine, and administrators; required: administrators; auto: open if http.addr is a loopback address, otherwise required.',
    }),
    metrics: oneOf(['open', 'required'], {
      default: 'open',
      doc: 'Whether /metrics is open, or follows auth.admin.',
    }),
    hide_unknown_user: flag({
      default: false,
      doc: 'Refuse an unknown user with the words for a wrong password.',
    }),
  },
  dashboard: {
    enable: flag({ default: true, doc: 'Serve the dashboard under /dashboard/.' }),
    upstream: optionalText({
      pattern: /^https?:\/\/\S+$/,
      allowed: 'an http or https URL',
      doc: 'Proxy the dashboard from this URL instead of serving the built-in one.',
    }),
  },
} as const;

function defaultMemoryLimit(machine: Machine): number {
  const { containerMemoryBytes, memoryBytes } = machine;
  return wholeMebibytes(containerMemoryBytes === undefined ? memoryBytes / 2 : containerMemoryBytes * 0.8);
}

function percent(share: number, doc: string): Key<number> {
  return integer({ default: share, min: 1, max: 100, doc: `Percent of the memory for budgets: ${doc}` });
}

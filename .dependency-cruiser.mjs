/** The dependency rules of ARCHITECTURE.md, checked for every import, type imports included. */

const LAYERS = [
  'errors',
  'bytes|time|clock|wasm',
  'fs|schema|telemetry|protobuf',
  'config|profiling|tls',
  'lifecycle|limits|rowbatch|segments|term-index',
  'duckdb|contracts',
  'grpc|formats|auth',
  'discovery',
  'write',
  'node',
];

const rule = (name, from, to) => ({ name, severity: 'error', from, to });
const notTo = (name, from, to, except = []) => rule(name, { path: from }, { path: to, pathNot: except });

/** A folder of `shared/` imports lower layers and itself, no neighbour. */
const layers = LAYERS.map((names, level) =>
  rule(
    `shared-layer-${level}`,
    { path: `^shared/(${names})/` },
    { path: '^shared/', pathNot: ['^shared/$1/', ...LAYERS.slice(0, level).map((lower) => `^shared/(${lower})/`)] },
  ),
);

/** A library is imported in one place only. Tests may use it to look from outside. */
const door = (library, where) =>
  rule(`door-${library}`, { pathNot: [...where, '^test/'] }, { path: `node_modules/(@types/)?${library}/` });

/** Folders beside each other do not know each other. */
const strangers = (folder, except = []) =>
  rule(
    `strangers-${folder}`,
    { path: `^services/${folder}/([^/]+)/` },
    { path: `^services/${folder}/[^/]+/`, pathNot: [`^services/${folder}/$1/`, ...except] },
  );

/** Entries of a registry import the file of their shape, never each other. */
const entries = (folder, shape) =>
  rule(
    `entries-${folder}`,
    { path: `^services/${folder}/[^/]+\\.ts$`, pathNot: [`^services/${folder}/(registry|${shape})\\.ts$`] },
    { path: `^services/${folder}/[^/]+\\.ts$`, pathNot: [`^services/${folder}/(${shape})\\.ts$`] },
  );

/** PromQL from the inside out: a folder imports itself and the folders before it. */
const PROMQL_LAYERS = ['common', 'syntax', 'histogram', 'runtime', 'functions|aggregations', 'eval'];
const promqlLayers = PROMQL_LAYERS.map((names, level) =>
  rule(
    `promql-layer-${level}`,
    { path: `^services/querier/promql/(${names})/` },
    {
      path: '^services/querier/promql/',
      pathNot: [
        '^services/querier/promql/$1/',
        ...PROMQL_LAYERS.slice(0, level).map((lower) => `^services/querier/promql/(${lower})/`),
      ],
    },
  ),
);

export default {
  forbidden: [
    rule('no-cycles', {}, { circular: true }),
    rule('no-orphans', { orphan: true, pathNot: ['^test/', 'main\\.ts$', '\\.d\\.ts$', '\\.(mjs|cjs)$'] }, {}),
    rule('resolves', {}, { couldNotResolve: true, pathNot: '^(\\.\\./)*dist/' }),
    rule('is-declared', {}, { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] }),
    rule(
      'product-needs-no-dev-package',
      // Packages of the dashboard are in the files that its build makes.
      { path: '^(services|shared)/', pathNot: '^services/gateway/dashboard/app/' },
      {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: ['node_modules/@types/'],
      },
    ),

    notTo('shared-imports-no-service', '^shared/', '^(services|test)/'),
    notTo('product-imports-no-test', '^(services|shared)/', '^test/'),
    ...layers,

    rule(
      'services-are-strangers',
      { path: '^services/(gateway|ingester|querier|metadata)/' },
      { path: '^services/', pathNot: ['^services/$1/'] },
    ),
    notTo('one-face', '^services/(standalone|cli)/', '^services/(gateway|ingester|querier|metadata)/', [
      '^services/[^/]+/(index|role|config)\\.ts$',
    ]),

    strangers('gateway/protocols', ['^services/gateway/protocols/common/']),
    entries('gateway/query/prometheus-api', 'endpoint'),
    entries('gateway/admin', 'endpoint'),
    entries('querier/promql/functions', 'function|range-function|extended'),
    entries('querier/promql/aggregations', 'aggregation'),
    entries('querier/sql/statements', 'statement'),
    entries('cli/commands', 'command'),

    // The server does not import code of the browser, nor that the server's.
    notTo(
      'dashboard-app-is-apart',
      '^services/(?!gateway/dashboard/app/)|^shared/',
      '^services/gateway/dashboard/app/',
    ),
    notTo('dashboard-app-is-closed', '^services/gateway/dashboard/app/', '^(services|shared)/', [
      '^services/gateway/dashboard/app/',
    ]),
    notTo(
      'dashboard-screens-are-top',
      '^services/gateway/dashboard/app/(?!screens/|screens\\.ts$)',
      '^services/gateway/dashboard/app/screens/',
    ),
    notTo(
      'dashboard-core-is-bottom',
      '^services/gateway/dashboard/app/(core|format)/',
      '^services/gateway/dashboard/app/(?!core/|format/)',
    ),
    notTo(
      'dashboard-widgets-below-shell',
      '^services/gateway/dashboard/app/(data|widgets)/',
      '^services/gateway/dashboard/app/shell/',
    ),
    strangers('gateway/dashboard/app/screens'),

    notTo('http-is-top', '^services/gateway/(?!http/|index\\.ts$)', '^services/gateway/http/'),

    notTo(
      'memtable-is-bottom',
      '^services/ingester/memtable/',
      '^services/ingester/(rpc|region|wal|flush|compaction|retention)/',
    ),
    notTo(
      'wal-is-bottom',
      '^services/ingester/wal/',
      '^services/ingester/(rpc|region|memtable|flush|compaction|retention)/',
    ),
    notTo(
      'background-below-region',
      '^services/ingester/(flush|compaction|retention)/',
      '^services/ingester/(rpc|region)/',
    ),
    notTo('region-below-rpc', '^services/ingester/region/', '^services/ingester/rpc/'),

    notTo('run-is-bottom', '^services/querier/run/', '^services/querier/(rpc|sql|promql|snapshot)/'),
    notTo('snapshot-above-run', '^services/querier/snapshot/', '^services/querier/(rpc|sql|promql)/'),
    notTo('kernels-below-sql', '^services/querier/(columns|kernels)/', '^services/querier/(rpc|sql|promql|flows)/'),
    notTo('sql-below-rpc', '^services/querier/sql/', '^services/querier/(rpc|flows)/'),
    notTo('flows-below-rpc', '^services/querier/flows/', '^services/querier/rpc/'),
    ...promqlLayers,
    notTo('promql-knows-no-sql', '^services/querier/promql/', '^services/querier/(rpc|sql|samples|snapshot)/'),
    notTo('tql-is-the-bridge', '^services/querier/sql/(?!(?:statements/tql\\.ts$|tql/))', '^services/querier/promql/', [
      '^services/querier/promql/engine\\.ts$',
    ]),

    door('express', ['^services/gateway/']),
    door('http-proxy-middleware', ['^services/gateway/']),
    door('better-sqlite3', ['^services/metadata/store/', '^shared/fs/folder-lock\\.ts$']),
    door('@duckdb/node-api', ['^shared/duckdb/']),
    door('apache-arrow', ['^shared/rowbatch/arrow(-template)?\\.ts$', '^shared/formats/']),
    door('@uwdata/flechette', ['^services/gateway/dashboard/app/data/']),
    door('@grpc/[^/]+', ['^shared/grpc/']),
    door('protobufjs', ['^shared/grpc/contract\\.ts$']),
    door('pino', ['^shared/telemetry/']),
    door('prom-client', ['^shared/telemetry/', '^services/[^/]+/metrics\\.ts$']),
    door('toml', ['^shared/config/']),
    door('commander', ['^services/cli/']),
    door('@node-rs/crc32', ['^shared/bytes/']),
    rule(
      'door-fs',
      // The loader runs before anything of ours is there.
      { pathNot: ['^shared/fs/', '^services/cli/program\\.cjs$', '^test/'] },
      { path: '^(node:)?fs(/promises)?$', dependencyTypes: ['core'] },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|shared/wasm/assembly)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'node', 'default'] },
  },
};

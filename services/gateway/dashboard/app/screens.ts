import type { ScreenEntry } from './shell/available.js';

/** All screens, in the order of the navigation. */
export const SCREENS: readonly ScreenEntry[] = [
  {
    name: 'query',
    title: 'Query',
    group: 'Explore',
    key: 'q',
    isPublic: true,
    hasRange: true,
    load: async () => (await import('./screens/query/query-screen.js')).QueryScreen,
  },
  {
    name: 'tables',
    title: 'Tables',
    group: 'Data',
    key: 'd',
    isPublic: true,
    hasRange: false,
    load: async () => (await import('./screens/tables/tables-screen.js')).TablesScreen,
  },
  {
    name: 'pipelines',
    title: 'Pipelines',
    group: 'Data',
    key: 'p',
    isPublic: true,
    hasRange: false,
    load: async () => (await import('./screens/pipelines/pipelines-screen.js')).PipelinesScreen,
  },
  {
    name: 'ingest',
    title: 'Ingest',
    group: 'Data',
    key: 'i',
    isPublic: true,
    hasRange: false,
    load: async () => (await import('./screens/ingest/ingest-screen.js')).IngestScreen,
  },
];

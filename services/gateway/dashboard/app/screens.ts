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
    name: 'logs',
    title: 'Logs',
    group: 'Explore',
    key: 'l',
    isPublic: true,
    hasRange: true,
    load: async () => (await import('./screens/logs/logs-screen.js')).LogsScreen,
  },
  {
    name: 'traces',
    title: 'Traces',
    group: 'Explore',
    key: 't',
    isPublic: true,
    hasRange: true,
    load: async () => (await import('./screens/traces/traces-screen.js')).TracesScreen,
  },
];

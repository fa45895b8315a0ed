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
    name: 'cluster',
    title: 'Cluster',
    group: 'Operate',
    key: 'c',
    isPublic: false,
    hasRange: false,
    load: async () => (await import('./screens/cluster/cluster-screen.js')).ClusterScreen,
  },
  {
    name: 'queries',
    title: 'Queries',
    group: 'Operate',
    key: 'u',
    isPublic: true,
    hasRange: true,
    load: async () => (await import('./screens/queries/queries-screen.js')).QueriesScreen,
  },
  {
    name: 'profiles',
    title: 'Profiles',
    group: 'Operate',
    key: 'f',
    isPublic: false,
    hasRange: false,
    load: async () => (await import('./screens/profiles/profiles-screen.js')).ProfilesScreen,
  },
  {
    name: 'config',
    title: 'Configuration',
    group: 'Operate',
    key: 'o',
    isPublic: false,
    hasRange: false,
    load: async () => (await import('./screens/config/config-screen.js')).ConfigScreen,
  },
];

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
    name: 'metrics',
    title: 'Metrics',
    group: 'Explore',
    key: 'm',
    isPublic: true,
    hasRange: true,
    load: async () => (await import('./screens/metrics/metrics-screen.js')).MetricsScreen,
  },
];

/** Outlines of 24 x 24, by name. */
const PATHS = {
  query: 'M4 6l5 6-5 6M12 18h8',
  metrics: 'M4 19V5M4 19h16M8 15l3-5 3 3 5-7',
  logs: 'M5 6h14M5 10h10M5 14h14M5 18h8',
  traces: 'M4 6h9M8 11h8M11 16h9',
  tables: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14',
  pipelines: 'M4 7h6v4H4zM14 13h6v4h-6zM10 9h5v4',
  ingest: 'M12 4v11M7 10l5 5 5-5M5 20h14',
  dashboards: 'M4 4h7v7H4zM13 4h7v4h-7zM13 10h7v10h-7zM4 13h7v7H4z',
  flows: 'M4 6h5l6 12h5M4 18h5l2-4M13 10l2-4h5M17 3l3 3-3 3M17 15l3 3-3 3',
  cluster: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5',
  queries: 'M12 5a8 8 0 1 0 8 8M12 9v4l3 2',
  profiles: 'M4 20h16M5 16h14M7 12h8M9 8h3',
  config: 'M5 7h8M17 7h2M15 5v4M5 17h2M11 17h8M9 15v4M5 12h14',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 5a3 3 0 0 1 0 6M17 14c2.5.6 4 3 4 6',
  play: 'M7 5l12 7-12 7z',
  stop: 'M6 6h12v12H6z',
  close: 'M6 6l12 12M18 6L6 18',
  add: 'M12 5v14M5 12h14',
  back: 'M14 6l-6 6 6 6',
  forward: 'M10 6l6 6-6 6',
  zoomOut: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20M8 10.5h5',
  refresh: 'M19 12a7 7 0 1 1-2-5M19 4v4h-4',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20',
  theme: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
  menu: 'M4 7h16M4 12h16M4 17h16',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  download: 'M12 4v10M8 10l4 4 4-4M5 19h14',
  star: 'M12 4l2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.8-5 2.8 1.1-5.5L4 9.7 9.6 9z',
  chevron: 'M9 6l6 6-6 6',
} as const;

/** Name of an icon. */
export type IconName = keyof typeof PATHS;

/** Draws an icon in the colour of the text. Words beside it, or the label of its button, say what it means. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

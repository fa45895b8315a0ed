-- The catalog, grants and the manifest. Options and lists are JSON text. Ids are never reused (AUTOINCREMENT).
CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;
INSERT INTO facts VALUES ('catalog_version', 1);

CREATE TABLE databases (
  database_id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  options TEXT NOT NULL
) STRICT;
INSERT INTO databases (name, options) VALUES ('public', '{}');

CREATE TABLE tables (
  table_id INTEGER PRIMARY KEY AUTOINCREMENT,
  database_id INTEGER NOT NULL REFERENCES databases (database_id),
  name TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  options TEXT NOT NULL,
  primary_key TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  next_column_id INTEGER NOT NULL,
  UNIQUE (database_id, name)
) STRICT;

CREATE TABLE columns (
  table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
  column_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('tag', 'field', 'time')),
  nullable INTEGER NOT NULL,
  default_sql TEXT NOT NULL,
  comment TEXT NOT NULL,
  PRIMARY KEY (table_id, column_id),
  UNIQUE (table_id, name)
) STRICT, WITHOUT ROWID;

-- A region has one open grant: `epoch` held by `node_id`; node 0 means no owner.
CREATE TABLE regions (
  region_id INTEGER PRIMARY KEY AUTOINCREMENT,
  table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  watermark INTEGER NOT NULL,
  truncated_sequence INTEGER NOT NULL,
  version INTEGER NOT NULL,
  UNIQUE (table_id, position)
) STRICT;
CREATE INDEX regions_of_node ON regions (node_id);

CREATE TABLE segments (
  path TEXT PRIMARY KEY,
  region_id INTEGER NOT NULL REFERENCES regions (region_id) ON DELETE CASCADE,
  schema_version INTEGER NOT NULL,
  time_first INTEGER NOT NULL,
  time_last INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  sid_first INTEGER NOT NULL,
  sid_last INTEGER NOT NULL,
  sequence_from INTEGER NOT NULL,
  sequence_to INTEGER NOT NULL,
  late_first INTEGER,
  late_last INTEGER,
  crc32c INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX segments_of_region ON segments (region_id, sequence_to);

CREATE TABLE series_files (
  path TEXT PRIMARY KEY,
  region_id INTEGER NOT NULL REFERENCES regions (region_id) ON DELETE CASCADE,
  sid_first INTEGER NOT NULL,
  sid_last INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  crc32c INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX series_files_of_region ON series_files (region_id, sid_first);

-- Files that no manifest names any more; deleted after a grace time.
CREATE TABLE garbage (
  path TEXT PRIMARY KEY,
  removed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX garbage_by_time ON garbage (removed_ms);

CREATE TABLE nodes (
  node_id INTEGER PRIMARY KEY AUTOINCREMENT,
  role TEXT NOT NULL,
  slot TEXT,
  addr TEXT NOT NULL,
  version TEXT NOT NULL,
  registered_ms INTEGER NOT NULL,
  UNIQUE (role, slot)
) STRICT;

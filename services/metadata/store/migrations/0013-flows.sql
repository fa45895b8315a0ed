-- Whether the segment replaced others; 0 for those that were merged before this format.
ALTER TABLE segments ADD COLUMN is_merged INTEGER NOT NULL DEFAULT 0;

-- Flows: their definition as JSON, their owner, and the outcome of their last run.
CREATE TABLE flows (
  flow_id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  spec TEXT NOT NULL,
  is_streaming INTEGER NOT NULL,
  version INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  last_run_ms INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  flush_requested INTEGER NOT NULL,
  flush_done INTEGER NOT NULL,
  flush_rows INTEGER NOT NULL,
  flush_error TEXT NOT NULL,
  needs_rebuild INTEGER NOT NULL
) STRICT;

-- Last sequence of each source region that a flow has processed.
CREATE TABLE flow_positions (
  flow_id INTEGER NOT NULL REFERENCES flows (flow_id) ON DELETE CASCADE,
  region_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (flow_id, region_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX flow_positions_of_region ON flow_positions (region_id);

-- Times at which rows changed in a way that sequences after a position do not show: by merges and truncations.
CREATE TABLE flow_changes (
  change_id INTEGER PRIMARY KEY AUTOINCREMENT,
  flow_id INTEGER NOT NULL REFERENCES flows (flow_id) ON DELETE CASCADE,
  region_id INTEGER NOT NULL,
  time_first INTEGER NOT NULL,
  time_last INTEGER NOT NULL
) STRICT;
CREATE INDEX flow_changes_of_flow ON flow_changes (flow_id);

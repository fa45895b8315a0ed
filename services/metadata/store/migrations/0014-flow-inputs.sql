-- What the results of a flow depend on besides source rows: its sink, and views, whose IDs are a JSON array. 0: not known.
ALTER TABLE flows ADD COLUMN sink_table_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE flows ADD COLUMN view_ids TEXT NOT NULL DEFAULT '[]';

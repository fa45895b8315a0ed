-- SQL text of the value that rows have which were written before the column was added; empty: null.
ALTER TABLE columns ADD COLUMN backfill_sql TEXT NOT NULL DEFAULT '';

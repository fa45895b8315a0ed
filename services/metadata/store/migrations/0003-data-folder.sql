-- Which cluster this is (`cluster`), and once an ingester has named it, the data folder of its segments (`data_folder`).
CREATE TABLE identity (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO identity VALUES ('cluster', lower(hex(randomblob(16))));

-- The data folder that a node registered with; empty: it has none, or did not say.
ALTER TABLE nodes ADD COLUMN data_folder TEXT NOT NULL DEFAULT '';

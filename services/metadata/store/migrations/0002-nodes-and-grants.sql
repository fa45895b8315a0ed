-- What nodes last said of themselves, and what the next owner of a region needs of the last one.
ALTER TABLE nodes ADD COLUMN state TEXT NOT NULL DEFAULT 'ready';
-- Since when the state is what it is.
ALTER TABLE nodes ADD COLUMN state_ms INTEGER NOT NULL DEFAULT 0;

-- The owner knows the ids of all batches that were applied in this epoch and later ones.
ALTER TABLE regions ADD COLUMN ids_since_epoch INTEGER NOT NULL DEFAULT 1;

-- Ids of applied batches, as the seal of a region's last epoch gave them.
CREATE TABLE applied_ids (
  region_id INTEGER PRIMARY KEY REFERENCES regions (region_id) ON DELETE CASCADE,
  ids BLOB NOT NULL
) STRICT;

-- Epochs that were sealed, newest few of each region: a seal whose answer was lost is known again.
CREATE TABLE seals (
  region_id INTEGER NOT NULL REFERENCES regions (region_id) ON DELETE CASCADE,
  epoch INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  PRIMARY KEY (region_id, epoch)
) STRICT, WITHOUT ROWID;

-- Whether a segment has rows with operations (deletions).
ALTER TABLE segments ADD COLUMN has_ops INTEGER NOT NULL DEFAULT 0;

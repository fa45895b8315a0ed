-- Whether a segment has scaled columns of doubles.
ALTER TABLE segments ADD COLUMN has_scaled INTEGER NOT NULL DEFAULT 0;

-- Types that the column had before, as JSON: [{"type": .., "lastVersion": ..}, ..], oldest first.
ALTER TABLE columns ADD COLUMN former_types TEXT NOT NULL DEFAULT '[]';

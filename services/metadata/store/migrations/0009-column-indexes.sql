-- Indexes of the column, as JSON: [{"kind": .., "options": {..}}, ..].
ALTER TABLE columns ADD COLUMN indexes TEXT NOT NULL DEFAULT '[]';

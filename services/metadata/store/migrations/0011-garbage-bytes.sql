-- Size of a file that is to be deleted; 0 if it was replaced before this format.
ALTER TABLE garbage ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

-- Dashboards of a database, as their authors wrote them.
CREATE TABLE dashboards (
  database_id INTEGER NOT NULL REFERENCES databases (database_id),
  name TEXT NOT NULL,
  definition TEXT NOT NULL,
  PRIMARY KEY (database_id, name)
) STRICT, WITHOUT ROWID;

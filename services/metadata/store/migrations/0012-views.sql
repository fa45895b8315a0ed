-- Queries with a name. `columns` is JSON: name, name in the query's result, and type of each column.
CREATE TABLE views (
  view_id INTEGER PRIMARY KEY AUTOINCREMENT,
  database_id INTEGER NOT NULL REFERENCES databases (database_id),
  name TEXT NOT NULL,
  columns TEXT NOT NULL,
  query TEXT NOT NULL,
  query_database TEXT NOT NULL,
  statement TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  UNIQUE (database_id, name)
) STRICT;

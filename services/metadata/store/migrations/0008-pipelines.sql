-- Versions of pipelines. A version is the instant of its creation in nanoseconds since 1970.
CREATE TABLE pipelines (
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- Users that SQL manages, by the line of text that checks their password.
CREATE TABLE users (
  name TEXT NOT NULL PRIMARY KEY,
  verifier TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a user may do in a database; in every database if its name is empty.
CREATE TABLE user_grants (
  user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  database TEXT NOT NULL,
  mode TEXT NOT NULL,
  PRIMARY KEY (user, database)
) STRICT, WITHOUT ROWID;

-- Tokens of users, by their SHA-256 in hexadecimal digits.
CREATE TABLE user_tokens (
  user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL,
  PRIMARY KEY (user, name)
) STRICT, WITHOUT ROWID;

/** The tables of the database, as numbered migrations. */

/**
 * A step from one version of the schema to the next. `sql`: its statements.
 *
 * @category model
 */
export interface Migration {
  readonly number: number
  readonly sql: string
}

/**
 * The schema of the store, oldest migration first, for those who run migrations themselves. The store runs what is missing at
 * its first call. SQLite compares text bytewise by default.
 *
 * @category model
 */
export const sqliteMigrations: ReadonlyArray<Migration> = [
  {
    number: 1,
    sql: `CREATE TABLE dogear_schema (number INTEGER PRIMARY KEY, at TEXT NOT NULL) STRICT;
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  format INTEGER NOT NULL,
  head INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  token TEXT NOT NULL,
  owner TEXT,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  since TEXT NOT NULL,
  summary TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_owner ON runs (owner) WHERE owner IS NOT NULL;
CREATE TABLE revisions (
  run TEXT NOT NULL,
  revision INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  kind TEXT NOT NULL,
  at TEXT NOT NULL,
  change TEXT NOT NULL,
  checkpoint TEXT,
  checksum TEXT NOT NULL,
  PRIMARY KEY (run, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX revisions_with_checkpoint ON revisions (run, revision) WHERE checkpoint IS NOT NULL;
CREATE TABLE artifacts (
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (run, id)
) STRICT;
CREATE TABLE requests (
  run TEXT NOT NULL,
  slot TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run, slot)
) STRICT;
CREATE TABLE pointer (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL) STRICT;
INSERT INTO dogear_schema VALUES (1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));`
  }
]

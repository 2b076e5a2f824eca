/** The tables of the store, as numbered migrations that any number of processes may run at once. */

import { sha256 } from '../../domain/data/Digest.js'

/** The version of the tables that this package needs. */
export const VERSION = 1

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The statements for each version, oldest first. Ids compare bytewise; JSON is text, because jsonb refuses `\u0000` and rewrites numbers. */
const migrations = (schema: string): ReadonlyArray<string> => [
  `CREATE TABLE ${schema}.runs (
      id text COLLATE "C" PRIMARY KEY,
      format integer NOT NULL,
      head bigint NOT NULL DEFAULT -1,
      epoch bigint NOT NULL,
      token uuid,
      key bigint,
      host text,
      pid bigint,
      since text,
      summary text
    ) WITH (fillfactor = 70);
    CREATE TABLE ${schema}.revisions (
      run text COLLATE "C" NOT NULL,
      revision bigint NOT NULL,
      epoch bigint NOT NULL,
      kind text NOT NULL,
      at text NOT NULL,
      change text NOT NULL,
      checkpoint text,
      checksum text NOT NULL,
      PRIMARY KEY (run, revision)
    );
    CREATE INDEX revisions_bases ON ${schema}.revisions (run, revision) WHERE checkpoint IS NOT NULL;
    CREATE TABLE ${schema}.artifacts (
      run text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      size bigint NOT NULL,
      sha256 text NOT NULL,
      content bytea NOT NULL,
      PRIMARY KEY (run, id)
    );
    ALTER TABLE ${schema}.artifacts ALTER COLUMN content SET STORAGE EXTERNAL;
    CREATE TABLE ${schema}.requests (
      run text COLLATE "C" NOT NULL,
      slot text COLLATE "C" NOT NULL,
      request text NOT NULL,
      PRIMARY KEY (run, slot)
    );
    CREATE TABLE ${schema}.pointer (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      run text COLLATE "C" NOT NULL,
      pointer text NOT NULL
    );
    CREATE TABLE ${schema}.leases (
      key bigint PRIMARY KEY,
      until timestamptz NOT NULL
    );`
]

/** The name of a schema may contain `$dogear$`, which would end the block; none is long enough to contain the quotes with a digest. */
const block = (schema: string, statements: string): string => {
  const quotes = schema.includes('$dogear$') ? `$dogear${sha256(schema)}$` : '$dogear$'
  return `DO ${quotes} BEGIN
  ${statements}
END ${quotes};`
}

const migrationBlock = (schema: string, version: number, statements: string): string =>
  block(
    schema,
    `IF NOT EXISTS (SELECT FROM ${quoted(schema)}.migrations WHERE version >= ${version}) THEN
    ${statements}
    INSERT INTO ${quoted(schema)}.migrations (version) VALUES (${version});
  END IF;`
  )

/** Runs in one transaction: a single query without parameters. Processes that start at once wait for one another. */
export const script = (schema: string): string =>
  [
    `SELECT pg_advisory_xact_lock(hashtextextended(${literal(`dogear migrations ${schema}`)}, 0));`,
    block(
      schema,
      `IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${literal(schema)}) THEN
    CREATE SCHEMA ${quoted(schema)};
  END IF;`
    ),
    `CREATE TABLE IF NOT EXISTS ${quoted(schema)}.migrations (
  version integer PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);`,
    ...migrations(quoted(schema)).map((statements, index) => migrationBlock(schema, index + 1, statements))
  ].join('\n')

/**
 * Returns the SQL that creates or upgrades the tables, for users whose program may not: run it with `psql` before the program, which then
 * passes `migrate: false`. Running it again changes nothing.
 *
 * @example
 * import { postgresMigrations } from 'dogear/postgres'
 * import assert from 'node:assert/strict'
 *
 * assert.match(postgresMigrations(), /CREATE TABLE "dogear".runs/)
 *
 * @category constructors
 */
export const postgresMigrations = (schema = 'dogear'): string => `BEGIN;\n${script(schema)}\nCOMMIT;\n`

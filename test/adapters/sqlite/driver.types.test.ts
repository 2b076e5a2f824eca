import type { Statement } from 'better-sqlite3'
import { expectTypeOf, test } from 'vitest'
import type { SqliteStatement } from '../../../src/adapters/sqlite/index.js'

test('the statement types that TypeScript 5 infers for better-sqlite3 fit the type that the store takes', () => {
  expectTypeOf<Statement<[NonNullable<unknown>]> | Statement<Array<unknown>>>().toExtend<SqliteStatement>()
})

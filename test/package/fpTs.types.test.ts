import type { Either } from 'fp-ts/lib/Either.js'
import type { Option } from 'fp-ts/lib/Option.js'
import type { ReaderTaskEither } from 'fp-ts/lib/ReaderTaskEither.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { expectTypeOf, test } from 'vitest'
import type * as Ours from '../../.ci/fp-ts.js'

test('the bundled types of fp-ts equal those of fp-ts', () => {
  expectTypeOf<Ours.Either<string, number>>().toEqualTypeOf<Either<string, number>>()
  expectTypeOf<Ours.Option<number>>().toEqualTypeOf<Option<number>>()
  expectTypeOf<Ours.TaskEither<string, number>>().toEqualTypeOf<TaskEither<string, number>>()
  expectTypeOf<Ours.ReaderTaskEither<object, string, number>>().toEqualTypeOf<
    ReaderTaskEither<object, string, number>
  >()
  expectTypeOf<Ours.ReadonlyNonEmptyArray<number>>().toEqualTypeOf<ReadonlyNonEmptyArray<number>>()
})

// Runs a program whose second step fails, fixes it, resumes; prints which steps ran and the outcome.
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { Program, resume, run, StepError, StepFailure } from 'dogear'
import { memoryStorage } from 'dogear/memory'
import { nodeEnvironment } from 'dogear/node'

const executed = []
let mended = false

const program = pipe(
  Program.start('demo'),
  Program.step('first', { run: () => TE.fromIO(() => executed.push('first')) }),
  Program.step('second', {
    run: ({ outputs: { first } }) =>
      mended
        ? TE.fromIO(() => executed.push(`second after ${first}`))
        : TE.left(StepFailure.permanent(StepError.make('Broken', 'not yet mended')))
  })
)

const environment = nodeEnvironment(memoryStorage())
const failed = await run(program, 'demo', {})(environment)()
mended = true
const resumed = await resume(program, 'demo')(environment)()

const endOf = (outcome) => (E.isRight(outcome) ? outcome.right._tag : outcome.left)
console.log(JSON.stringify({ executed, ends: [failed, resumed].map(endOf) }))

// Effect's workflow engine on SQLite: a cluster of one runner in this process.
import { join } from 'node:path'
import { ClusterWorkflowEngine, SingleRunner } from '@effect/cluster'
import { SqliteClient } from '@effect/sql-sqlite-node'
import { Activity, Workflow } from '@effect/workflow'
import { Effect, Layer, Logger, LogLevel, ManagedRuntime, Schema } from 'effect'

export const open = async ({ folder, steps, step, variant }) => {
  const Bench = Workflow.make({
    name: 'bench',
    payload: { id: Schema.String },
    success: Schema.Void,
    idempotencyKey: ({ id }) => id
  })
  const benchLayer = Bench.toLayer(
    Effect.fnUntraced(function* () {
      for (let index = 0; index < steps; index++) {
        yield* Activity.make({ name: `step-${index}`, success: Schema.Number, execute: Effect.sync(() => step(index)) })
      }
    })
  )
  const runtime = ManagedRuntime.make(
    benchLayer.pipe(
      Layer.provideMerge(ClusterWorkflowEngine.layer),
      Layer.provideMerge(SingleRunner.layer()),
      Layer.provideMerge(SqliteClient.layer({ filename: join(folder, 'effect.db') })),
      Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
    )
  )
  const pragma = (text) =>
    runtime.runPromise(Effect.flatMap(SqliteClient.SqliteClient, (sql) => sql.unsafe(`PRAGMA ${text}`)))
  if (variant === 'forced') await pragma('synchronous = FULL')
  // The same call starts the run and resumes it.
  const go = () => runtime.runPromise(Bench.execute({ id: 'bench' }))
  return {
    settings: async () => {
      const [{ journal_mode }] = await pragma('journal_mode')
      const [{ synchronous }] = await pragma('synchronous')
      return `journal_mode ${journal_mode}, synchronous ${synchronous}`
    },
    run: go,
    resume: go,
    close: () => runtime.dispose()
  }
}

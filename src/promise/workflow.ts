/** Workflows as chains: the combinators of `Program` as methods. */
import { extraArgument } from '../domain/data/Options.js'
import { withMethods, withProblem } from '../executor/program/chain.js'
import type { Schema, StartOf } from '../executor/program/Program.js'
import * as P from '../executor/program/Program.js'

export { reuse } from '../executor/program/Program.js'
export type { JobSpec, StepArtifacts, StepContext, StepSpec, TaskSpec } from '../executor/program/Program.js'

/**
 * A workflow as a chain. It is a program: the planner and the executor take it. `Given`: what its steps need besides their
 * context: an item, in the body of a map. `Seen`: the input type that its steps see, if a schema transforms it.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOrResume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const release = workflow('release')
 *   .step('version', () => '1.2.3')
 *   .wave('checks', {
 *     unit: () => 'fine',
 *     app: {
 *       needs: ['unit'],
 *       steps: (app) =>
 *         app
 *           .step('build', async ({ outputs }) => `app-${outputs.version}.tgz`)
 *           .step('smoke', ({ outputs }) => `${outputs.build} starts`)
 *     }
 *   })
 *   .map(
 *     'regions',
 *     { forEach: () => ['asia', 'europe'] },
 *     {
 *       steps: (region) =>
 *         region
 *           .step('push', ({ item, outputs }) => `${outputs.checks.app.build} to ${item}`)
 *           .step('test', ({ item }) => `${item} answers`)
 *     }
 *   )
 *   .step('report', ({ outputs: { regions } }) => regions.map(({ push }) => push).join(', '))
 *
 * const outputs = await runOrResume(release, { id: 'release-1', storage: memoryStorage() })
 * assert.equal(outputs.report, 'app-1.2.3.tgz to asia, app-1.2.3.tgz to europe')
 *
 * @category model
 */
export interface WorkflowBuilder<Outputs, Input, Given = unknown, Seen = Input> extends P.Program<
  Outputs,
  Input,
  Given,
  Seen
> {
  /** Adds a step. Later steps see its output under its name. */
  readonly step: <N extends string, C>(
    name: P.NewName<N, Outputs>,
    spec: P.StepSpec<P.StepContext<Outputs, Seen> & Given, C>
  ) => WorkflowBuilder<Outputs & { readonly [K in N]: P.OutputOf<C> }, Input, Given, Seen>
  /** Adds a step that sleeps, over crashes and restarts: for `millis` from its start, or `until` a time. */
  readonly sleep: <N extends string>(
    name: P.NewName<N, Outputs>,
    options: P.Sleep & Pick<P.SleepSpec, 'summary'>
  ) => WorkflowBuilder<Outputs, Input, Given, Seen>
  /** Adds a step that waits for an `answer`, which becomes its output. */
  readonly waitFor: <N extends string, C>(
    name: P.NewName<N, Outputs>,
    options?: P.WaitFor & Omit<P.WaitForSpec<C>, 'waitFor'>
  ) => WorkflowBuilder<Outputs & { readonly [K in N]: P.OutputOf<C> }, Input, Given, Seen>
  /** Adds steps that run in order, as one step: `parts` adds them to a workflow without steps. */
  readonly sequence: <N extends string, Inner>(
    name: P.NewName<N, Outputs>,
    parts: (start: WorkflowBuilder<Outputs, Input, Given, Seen>) => P.Program<Inner, Input, Given, Seen>,
    options?: P.SequenceOptions<P.StepContext<Outputs, Seen> & Given>
  ) => WorkflowBuilder<Outputs & { readonly [K in N]: P.Added<Inner, Outputs> }, Input, Given, Seen>
  /** Adds a wave of groups that run in parallel. A group is a task, or steps in order. */
  readonly wave: <N extends string, Cs extends Readonly<Record<string, unknown>>>(
    name: P.NewName<N, Outputs>,
    groups: P.Groups<Outputs, Seen, Cs, Given, WorkflowBuilder<Outputs, Seen, Given>>,
    options?: P.WaveOptions<P.StepContext<Outputs, Seen> & Given>
  ) => WorkflowBuilder<
    Outputs & { readonly [K in N]: { readonly [G in keyof Cs]: P.PartOf<Cs[G], Outputs> } },
    Input,
    Given,
    Seen
  >
  /** Adds a map: a task, or steps in order, for each item of earlier outputs. Later steps see an array of the outputs. */
  readonly map: <N extends string, I = unknown, C = unknown>(
    name: P.NewName<N, Outputs>,
    options: P.MapOptions<Outputs, Seen, I, Given>,
    each: P.EachSpec<
      Outputs,
      Seen,
      C,
      P.ForItem<P.OutputOf<I>>,
      WorkflowBuilder<Outputs, Seen, P.ForItem<P.OutputOf<I>>>
    >
  ) => WorkflowBuilder<Outputs & { readonly [K in N]: ReadonlyArray<P.PartOf<C, Outputs>> }, Input, Given, Seen>
}

/**
 * A workflow without steps yet. Its input is plain JSON, or what the schema in `options.input` takes. The type argument is the type of that
 * schema, which TypeScript infers: a plain type, as in `workflow<Order>('order')`, does not compile.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOrResume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const greet = workflow('greet')
 *   .step('name', async () => 'world')
 *   .step('greeting', async ({ outputs }) => `hello ${outputs.name}`)
 *
 * const outputs = await runOrResume(greet, { id: 'greet-1', storage: memoryStorage() })
 * assert.equal(outputs.greeting, 'hello world')
 *
 * @category defining
 */
export const workflow = <C extends Schema | undefined = undefined>(
  name: string,
  options: P.ProgramOptions & { readonly input?: C } = {}
): WorkflowBuilder<object, StartOf<C>, unknown, P.SeenInput<C>> =>
  withMethods(P.start(name, options), Chain.prototype) as never

type Methods = Record<Exclude<keyof WorkflowBuilder<unknown, unknown>, keyof P.Program<unknown>>, unknown>

/** The methods of a workflow; `WorkflowBuilder` has their types. They are accessors, so that a destructured method keeps its workflow. */
class Chain implements Methods {
  // A third argument is refused as a misplaced option.
  get step() {
    return (name: never, spec: never, options?: unknown, ...more: Extra) =>
      this.with(P.step(name, options === undefined ? spec : ({ run: spec, options } as never)), more, 'fourth')
  }
  get sleep() {
    return (name: never, options: never, ...more: Extra) => this.with(P.sleep(name, options), more, 'third')
  }
  get waitFor() {
    return (name: never, options?: never, ...more: Extra) => this.with(P.waitFor(name, options), more, 'third')
  }
  get sequence() {
    return (name: never, parts: never, options?: never, ...more: Extra) =>
      this.with(P.sequence(name, parts, options), more, 'fourth', 'third')
  }
  get wave() {
    return (name: never, groups: never, options?: never, ...more: Extra) =>
      this.with(P.wave(name, groups, options), more, 'fourth', 'third')
  }
  get map() {
    return (name: never, options: never, each: never, ...more: Extra) =>
      this.with(P.map(name, options, each), more, 'fourth')
  }

  private with(add: unknown, more: Extra, first: string, options?: string): unknown {
    const added = (add as (self: unknown) => P.Program<unknown>)(this)
    const problem = extraArgument(more, first, options)
    return problem === undefined ? added : withProblem(added, problem)
  }
}

/** The arguments that a method does not have. */
type Extra = ReadonlyArray<unknown>

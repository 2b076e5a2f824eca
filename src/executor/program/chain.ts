/** Programs that share their steps with the program that they were made of: one more step costs O(log n). */
import type { Vector } from '../../domain/data/Vector.js'
import * as Vec from '../../domain/data/Vector.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { WorkflowIdentity } from '../../domain/workflow/WorkflowIdentity.js'
import * as Identity from '../../domain/workflow/WorkflowIdentity.js'
import type { Program } from './ProgramSpec.js'
import type { ProgramStep } from './ProgramStep.js'

export type Base<Input, Seen> = Pick<
  Program<unknown, Input, unknown, Seen>,
  'name' | 'secrets' | 'onSuccess' | 'decodeInput' | 'encodeInput' | 'problems'
>

/** How a program was made. A program made by a spread, or by another copy of this module, has only its array of steps. */
interface Source {
  readonly self: Workflow
  readonly from: Iterable<ProgramStep>
  steps?: ReadonlyArray<ProgramStep>
  identity?: WorkflowIdentity
}

const SOURCE = Symbol('source')

/** Made when they are first read: the programs inside a chain never need theirs. Own properties, so that the spread of a program has them. */
const STEPS = {
  enumerable: true,
  get(this: Made): ReadonlyArray<ProgramStep> {
    const source = this[SOURCE]()
    const { from } = source
    return (source.steps ??= Array.isArray(from) ? (from as ReadonlyArray<ProgramStep>) : [...from])
  }
}

/** Not of `this`, which may be a proxy or an heir with another name. */
const IDENTITY = {
  enumerable: true,
  get(this: Made): WorkflowIdentity {
    const source = this[SOURCE]()
    return (source.identity ??= Identity.of(source.self))
  }
}

/** The source is behind a function, which a deep freeze or proxy does not look into. */
interface Made {
  readonly [SOURCE]: () => Source
}

/** `methods`: the prototype. Properties shared by all programs keep them in one hidden class, which makes a long chain fast. */
export const build = <Outputs, Input, Given, Seen>(
  base: Base<Input, Seen>,
  from: Iterable<ProgramStep>,
  path?: string,
  methods: object | null = Object.prototype
): Program<Outputs, Input, Given, Seen> => {
  const self = Object.create(methods) as Writable<Program<Outputs, Input, Given, Seen>>
  self.name = base.name
  self.path = path
  self.secrets = base.secrets ?? []
  self.onSuccess = base.onSuccess ?? 'keep'
  self.decodeInput = base.decodeInput
  self.encodeInput = base.encodeInput
  self.problems = base.problems
  const source: Source = { self, from }
  Object.defineProperty(self, SOURCE, { value: () => source, configurable: true })
  Object.defineProperty(self, 'steps', STEPS)
  return Object.defineProperty(self, 'identity', IDENTITY)
}

type Writable<A> = { -readonly [K in keyof A]: A[K] }

/** A program with one more step, and the same methods: O(log n). */
export const add = <Outputs, Input, Given, Seen>(
  self: Base<Input, Seen> & Pick<Program<unknown>, 'steps'>,
  last: ProgramStep
): Program<Outputs, Input, Given, Seen> => {
  const source = (self as Partial<Made>)[SOURCE]?.()
  // A proxy or an heir may have other steps.
  const steps =
    source?.self !== self || Array.isArray(source.from) ? Vec.from(self.steps) : (source.from as Vector<ProgramStep>)
  return build(self, Vec.append(steps, last), undefined, methodsOf(self))
}

/** Without the fields that an heir or an instance of a class inherits: the new program could not set them if they are frozen. */
const methodsOf = (self: object): object | null => {
  const methods = Object.getPrototypeOf(self) as object | null
  return methods !== null && 'name' in methods ? methodsOf(methods) : methods
}

/** The same program with methods, which the programs made of it have too. */
export const withMethods = <Outputs, Input, Given, Seen>(
  self: Program<Outputs, Input, Given, Seen>,
  methods: object
): Program<Outputs, Input, Given, Seen> => build(self, self.steps, self.path, methods)

/** The same program without steps. */
export const withoutSteps = <Input, Seen>(self: Base<Input, Seen>): Program<object, Input, unknown, Seen> =>
  build(self, [], undefined, methodsOf(self))

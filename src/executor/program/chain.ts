/** Makes programs. A program shares its steps with the program that it was made from, so that adding a step costs O(log n). */
import type { OptionProblem } from '../../domain/data/Options.js'
import type { Vector } from '../../domain/data/Vector.js'
import * as Vec from '../../domain/data/Vector.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { WorkflowIdentity } from '../../domain/workflow/WorkflowIdentity.js'
import * as Identity from '../../domain/workflow/WorkflowIdentity.js'
import type { Program } from './ProgramSpec.js'
import type { ProgramStep } from './ProgramStep.js'

/** A program without its steps. */
export type Base<Input, Seen> = Pick<
  Program<unknown, Input, unknown, Seen>,
  'name' | 'secrets' | 'onSuccess' | 'decodeInput' | 'encodeInput' | 'problems'
>

/** The steps of a program, and what is computed from them. A spread, or a program of another copy of this module, has no source. */
interface Source {
  readonly self: Workflow
  readonly from: Iterable<ProgramStep>
  steps?: ReadonlyArray<ProgramStep>
  identity?: WorkflowIdentity
}

const SOURCE = Symbol('source')

/** Computes the array on first read: of a chain, only the last program needs it. An own property, so that a spread copies it. */
const STEPS = {
  enumerable: true,
  get(this: Made): ReadonlyArray<ProgramStep> {
    const source = this[SOURCE]()
    const { from } = source
    return (source.steps ??= Array.isArray(from) ? (from as ReadonlyArray<ProgramStep>) : [...from])
  }
}

/** The identity of `source.self`: `this` may be a proxy, or inherit from the program and have another name. */
const IDENTITY = {
  enumerable: true,
  get(this: Made): WorkflowIdentity {
    const source = this[SOURCE]()
    return (source.identity ??= Identity.of(source.self))
  }
}

/** The source is returned by a function, because a deep freeze or a deep proxy does not enter one. */
interface Made {
  readonly [SOURCE]: () => Source
}

/** `methods`: the prototype. All programs have the same properties in the same order, and so one hidden class, which makes a long chain fast. */
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

/** Returns a program with one more step, and the same methods. */
export const add = <Outputs, Input, Given, Seen>(
  self: Base<Input, Seen> & Pick<Program<unknown>, 'steps'>,
  last: ProgramStep
): Program<Outputs, Input, Given, Seen> => {
  const source = (self as Partial<Made>)[SOURCE]?.()
  // A proxy of the program, or an object that inherits from it, may have other steps.
  const steps =
    source?.self !== self || Array.isArray(source.from) ? Vec.from(self.steps) : (source.from as Vector<ProgramStep>)
  return build(self, Vec.append(steps, last), undefined, methodsOf(self))
}

/** Returns the nearest prototype without the fields of a program: a new program could not set a field that it inherits from a frozen object. */
const methodsOf = (self: object): object | null => {
  const methods = Object.getPrototypeOf(self) as object | null
  return methods !== null && 'name' in methods ? methodsOf(methods) : methods
}

/** Returns the same program with methods, which all programs made from it have, too. */
export const withMethods = <Outputs, Input, Given, Seen>(
  self: Program<Outputs, Input, Given, Seen>,
  methods: object
): Program<Outputs, Input, Given, Seen> => build(self, self.steps, self.path, methods)

/** Returns the same program with a problem of its last step, with which it is refused. */
export const withProblem = <Outputs, Input, Given, Seen>(
  self: Program<Outputs, Input, Given, Seen>,
  problem: OptionProblem
): Program<Outputs, Input, Given, Seen> => {
  const steps = self.steps.slice(0, -1)
  const last = self.steps.slice(-1).map((step) => ({ ...step, problems: [...step.problems, problem] }))
  return build(self, [...steps, ...last], self.path, methodsOf(self))
}

/** Returns the same program without steps. */
export const withoutSteps = <Input, Seen>(self: Base<Input, Seen>): Program<object, Input, unknown, Seen> =>
  build(self, [], undefined, methodsOf(self))

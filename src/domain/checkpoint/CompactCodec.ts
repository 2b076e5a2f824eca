/**
 * The stored form of a checkpoint's steps and records, of which a long run has thousands: it omits the values that most of them have. Any other
 * form of the same values is refused, so that an encoded checkpoint equals the stored one.
 */
import * as t from 'io-ts'
import { defined } from '../data/defined.js'
import { fields, json, list, millis, natural, nonEmpty, optional, suchThat, textOr, time } from '../data/JsonCodec.js'
import { DEFAULT_FINGERPRINT } from '../workflow/Workflow.js'
import type { StepIdentity, WorkflowIdentity } from '../workflow/WorkflowIdentity.js'
import type { CompletedStep } from './CompletedStep.js'
import type { WorkflowOf } from './StateCodec.js'
import { evidence, stepOf, subStep, workflowOf } from './StateCodec.js'

/** Stores a task that has only a name and defaults as its name; also as a part of a composite, although `StepIdentity` does not say so. */
type CompactStep = string | StepIdentity

/** A workflow with compact steps. */
export type CompactWorkflow = WorkflowOf<CompactStep>

/** Omitted: `fingerprint` if it is {@link DEFAULT_FINGERPRINT}, `attempts` if it is 1, and empty lists. */
export type CompactRecord = Omit<CompletedStep, Omittable> & Partial<Pick<CompletedStep, Omittable>>

type Omittable = 'fingerprint' | 'captured' | 'attempts' | 'evidence'

const hasOnlyName = (step: StepIdentity): boolean =>
  step._tag === 'Task' &&
  step.fingerprint === DEFAULT_FINGERPRINT &&
  step.idempotent &&
  step.captures === undefined &&
  step.wait === undefined &&
  step.needs === undefined

// --- codecs

const compactStep: t.Type<CompactStep> = t.recursion('a step, only as its name if it has nothing else', () =>
  textOr(
    suchThat(
      'its name if it has nothing else',
      stepOf(compactStep as t.Type<StepIdentity>),
      (step) => !hasOnlyName(step)
    )
  )
)

export const workflow: t.Type<CompactWorkflow> = workflowOf(compactStep)

export const record: t.Type<CompactRecord> = fields<CompactRecord>('a completed step', {
  unit: t.string,
  stepIndex: natural,
  fingerprint: optional(suchThat('omitted if usual', t.string, (fingerprint) => fingerprint !== DEFAULT_FINGERPRINT)),
  output: optional(json),
  captured: optional(nonEmpty(t.string)),
  attempts: optional(suchThat('omitted if 1', natural, (attempts) => attempts !== 1)),
  startedAt: time,
  completedAt: time,
  durationMillis: millis,
  evidence: optional(nonEmpty(evidence)),
  assumed: optional(t.literal(true)),
  subStep: optional(subStep),
  inDoubt: optional(list(t.string))
})

// --- encoding

export const toCompactWorkflow = (identity: WorkflowIdentity): CompactWorkflow => ({
  ...identity,
  steps: identity.steps.map(toCompactStep)
})

const toCompactStep = (step: StepIdentity): CompactStep =>
  hasOnlyName(step) ? step.name : withParts(step, toCompactStep)

const withParts = (step: StepIdentity, change: (part: StepIdentity) => CompactStep): StepIdentity => {
  const changed = (part: StepIdentity): StepIdentity => change(part) as StepIdentity
  switch (step._tag) {
    case 'Task':
      return step
    case 'Sequence':
      return { ...step, steps: step.steps.map(changed) }
    case 'Wave':
      return { ...step, groups: step.groups.map(changed) }
    case 'Map':
      return { ...step, each: changed(step.each) }
  }
}

/** Field by field, because a spread of each record takes milliseconds. */
export const toCompactRecord = (whole: CompletedStep): CompactRecord => {
  const { fingerprint, output, captured, attempts, evidence, assumed, subStep, inDoubt } = whole
  const compact: { -readonly [K in keyof CompactRecord]: CompactRecord[K] } = {
    unit: whole.unit,
    stepIndex: whole.stepIndex,
    startedAt: whole.startedAt,
    completedAt: whole.completedAt,
    durationMillis: whole.durationMillis
  }
  if (fingerprint !== DEFAULT_FINGERPRINT) compact.fingerprint = fingerprint
  if (output !== undefined) compact.output = output
  if (captured.length > 0) compact.captured = captured
  if (attempts !== 1) compact.attempts = attempts
  if (evidence.length > 0) compact.evidence = evidence
  if (assumed !== undefined) compact.assumed = assumed
  if (subStep !== undefined) compact.subStep = subStep
  if (inDoubt !== undefined) compact.inDoubt = inDoubt
  return compact
}

// --- decoding

export const toWorkflow = (compact: CompactWorkflow): WorkflowIdentity => ({
  ...compact,
  steps: compact.steps.map(toStep)
})

const toStep = (step: CompactStep): StepIdentity =>
  typeof step === 'string'
    ? { _tag: 'Task', name: step, fingerprint: DEFAULT_FINGERPRINT, idempotent: true }
    : withParts(step, toStep)

const NOTHING: ReadonlyArray<never> = []

/** Lists the fields in the order of a new record, so that both have one hidden class. */
export const toRecord = (compact: CompactRecord): CompletedStep => {
  const { unit, stepIndex, output, startedAt, completedAt, durationMillis, assumed, subStep, inDoubt } = compact
  const { fingerprint = DEFAULT_FINGERPRINT, captured = NOTHING, attempts = 1, evidence = NOTHING } = compact
  const whole: CompletedStep =
    output === undefined
      ? { unit, stepIndex, fingerprint, captured, attempts, startedAt, completedAt, durationMillis, evidence }
      : { unit, stepIndex, fingerprint, output, captured, attempts, startedAt, completedAt, durationMillis, evidence }
  return assumed === undefined && subStep === undefined && inDoubt === undefined
    ? whole
    : { ...whole, ...defined({ assumed, subStep, inDoubt }) }
}

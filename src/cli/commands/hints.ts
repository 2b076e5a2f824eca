/**
 * Command lines that go on from where something stopped, to copy.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import { describeQuestion } from '../../domain/Explain.js'
import type { Confirm, ResumePlan } from '../../domain/Plan.js'
import { openQuestions, unitName } from '../../domain/Plan.js'
import { planResume } from '../../domain/planResume.js'
import type { Workflow } from '../../domain/Workflow.js'
import { tasks } from '../../domain/Workflow.js'
import { printable } from '../terminal/Style.js'
import { dogearCommand } from './Context.js'
import type { PlanFlags } from './planFlags.js'
import { wordsOf } from './planFlags.js'

/**
 * What a resume will ask before it runs anything.
 *
 * @category destructors
 * @since 0.1.0
 */
export const questionsOf = (checkpoint: Checkpoint, workflow: Workflow): ReadonlyArray<Confirm> => {
  const plan = planResume(checkpoint, workflow)
  return E.isLeft(plan) ? [] : openQuestions(plan.right)
}

/**
 * How to go on with a run: with the answers to what will be asked, if anything will.
 *
 * @category destructors
 * @since 0.1.0
 */
export const resumeHints = (
  context: Parameters<typeof dogearCommand>[0],
  runId: string,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<string> =>
  questions.length === 0
    ? [`  ${dogearCommand(context, ['resume', runId])}`]
    : [
        ...questions.map((question) => printable(describeQuestion(question))),
        ...answerHints(context, runId, {}, workflow, questions)
      ]

/**
 * The command lines that answer the open questions.
 *
 * @category destructors
 * @since 0.1.0
 */
export const answerHints = (
  context: Parameters<typeof dogearCommand>[0],
  runId: string,
  flags: PlanFlags,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<string> => {
  const answering = (answer: 'again' | 'done'): string =>
    dogearCommand(context, [
      ...['resume', runId, ...wordsOf(flags)],
      ...questions.flatMap((question) => {
        const output = answer === 'done' && captures(workflow, question).length > 0 ? ':OUTPUT' : ''
        return ['--confirm', `${unitName(question)}=${answer}${output}`]
      })
    ])
  const mixed = questions.length === 1 ? [] : ['(or a mixture of both)']
  return ['To run again:', `  ${answering('again')}`, 'To take as done:', `  ${answering('done')}`, ...mixed]
}

/**
 * The variables that a unit which has to be asked about would have captured.
 *
 * @category destructors
 * @since 0.1.0
 */
export const captures = (workflow: Workflow, { stepIndex, group, step }: Confirm): ReadonlyArray<string> => {
  const found = workflow.steps[stepIndex]
  return found === undefined ? [] : (tasks(found).find(({ name }) => name === (group ?? step))?.captures ?? [])
}

/**
 * What can be done about a plan that was refused.
 *
 * @category destructors
 * @since 0.1.0
 */
export const planErrorHints = (
  context: Parameters<typeof dogearCommand>[0],
  runId: string,
  problems: ReadonlyArray<{ readonly _tag: string; readonly step?: string }>
): ReadonlyArray<string> => {
  const changed = problems.find(({ _tag }) => _tag === 'WorkflowChanged')?.step
  return changed === undefined
    ? []
    : [
        'To run again from there:',
        `  ${dogearCommand(context, ['resume', runId, '--from-step', changed])}`,
        'To let what is recorded count in spite of the change:',
        `  ${dogearCommand(context, ['resume', runId, '--changes', 'ignore'])}`
      ]
}

/**
 * Whether a plan has nothing to run.
 *
 * @category refinements
 * @since 0.1.0
 */
export const isDone = ({ decisions }: ResumePlan): boolean => decisions.every((decision) => decision._tag === 'Skip')

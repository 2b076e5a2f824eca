/** Checks the ports of an environment, because untyped hosts may pass anything. */
import type { Check, OptionProblem } from '../domain/data/Options.js'
import { callback, fieldsOf, kindOf, millis, signal } from '../domain/data/Options.js'
import { notPort, STORE_METHODS } from '../domain/data/portMethods.js'
import type { Archive } from '../ports/Archive.js'
import type { ArtifactStore } from '../ports/ArtifactStore.js'
import type { AsyncContext } from '../ports/AsyncContext.js'
import type { CheckpointStorage } from '../ports/CheckpointStorage.js'
import type { Clock } from '../ports/Clock.js'
import type { Environment } from '../ports/Environment.js'
import type { Events } from '../ports/Events.js'
import type { Requests } from '../ports/Requests.js'
import type { Secrets } from '../ports/Secrets.js'
import type { WorkingTree } from '../ports/WorkingTree.js'
import type { Workspaces } from '../ports/Workspaces.js'

/** `example`: what to pass. */
const port =
  <Port>(example: string, ...methods: ReadonlyArray<keyof Port & string>): Check =>
  (value) => {
    const wrong = notPort(methods, value)
    return wrong === undefined ? undefined : `${example}, ${wrong}`
  }

const interrupt: Check = (value) =>
  signal(fieldsOf(value)['signal']) !== undefined || notPort(['reason'], value) !== undefined
    ? `an Interrupt, with signal and reason, not ${kindOf(value)}`
    : undefined

const owner: Check = (value) => {
  const { host, pid } = fieldsOf(value)
  return typeof host === 'string' && typeof pid === 'number'
    ? undefined
    : `an Owner, with host and pid, not ${kindOf(value)}`
}

export const store = port<CheckpointStorage>(
  "a CheckpointStorage, such as jsonFileStorage('.dogear')",
  ...STORE_METHODS
)

/** The check of each port. */
export const PORTS: Readonly<Record<keyof Environment, Check>> = {
  storage: store,
  clock: port<Clock>('a Clock, such as systemClock', 'now', 'sleep'),
  tree: port<WorkingTree>(
    'a WorkingTree, such as workingTree(folder)',
    'content',
    'has',
    'head',
    'fullHash',
    'missingCommits',
    'storedCommits',
    'commitsSince',
    'changed'
  ),
  owner,
  interrupt,
  events: port<Events>('Events, with report', 'report'),
  random: callback,
  graceMillis: millis,
  onCheckFailed: callback,
  artifacts: port<ArtifactStore>(
    'an ArtifactStore, such as fileArtifacts(folder)',
    'put',
    'get',
    'has',
    'remove',
    'list',
    'clear'
  ),
  secrets: port<Secrets>('Secrets, such as environmentSecrets()', 'read'),
  archive: port<Archive>('an Archive, such as fileArchive(folder)', 'keep'),
  requests: port<Requests>(
    'Requests, such as memoryRequests()',
    'leave',
    'isAny',
    'list',
    'withdraw',
    'clearPause',
    'point',
    'unpoint'
  ),
  asyncContext: port<AsyncContext>('an AsyncContext, such as that of nodeEnvironment', 'run', 'get'),
  workspaces: port<Workspaces>(
    'Workspaces, such as workspaces(folder)',
    'plan',
    'make',
    'find',
    'stepFolder',
    'tree',
    'commit',
    'merge',
    'remove'
  ),
  around: callback
}

type Required = {
  readonly [K in keyof Environment]-?: object extends Pick<Environment, K> ? never : K
}[keyof Environment]

const REQUIRED: Readonly<Record<Required, true>> = {
  storage: true,
  clock: true,
  tree: true,
  owner: true,
  interrupt: true,
  events: true,
  random: true,
  graceMillis: true
}

export const environmentProblems = (given: unknown): ReadonlyArray<OptionProblem> => {
  const fields = fieldsOf(given)
  const missing = Object.keys(REQUIRED).filter((name) => fields[name] === undefined)
  if (missing.length > 0) {
    const without = kindOf(given) === 'an object' ? ` without ${missing.join(', ')}` : ''
    const expected = `an Environment, such as nodeEnvironment(storage), not ${kindOf(given)}${without}`
    return [{ option: 'the environment', expected }]
  }
  return Object.entries(PORTS).flatMap(([name, check]) => {
    const expected = fields[name] === undefined ? undefined : check(fields[name])
    return expected === undefined ? [] : [{ option: `environment.${name}`, expected }]
  })
}

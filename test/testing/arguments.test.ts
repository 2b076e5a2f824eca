/** Arguments of JavaScript callers, which no compiler checks. */
import { expect, test } from 'vitest'
import { crashEverywhere, runArtifactConformance, runConformance } from '../../src/testing/index.js'

type Call = (...given: ReadonlyArray<unknown>) => Promise<unknown>

const made = () => Promise.resolve({})
const spec = { name: 'a store', create: made, reopen: made, capabilities: [] }

test.each<[string, Call, ReadonlyArray<unknown>, string]>([
  [
    'no workflow',
    crashEverywhere as Call,
    [],
    'crashEverywhere: the first argument must be a workflow or a function that returns one, not undefined'
  ],
  [
    'an unknown option',
    crashEverywhere as Call,
    [() => undefined, { twise: 1 }],
    'crashEverywhere: unknown option "twise"; did you mean "twice"?'
  ],
  [
    'an empty spec',
    runConformance as Call,
    [{}],
    'runConformance: name must be a string; create must be a function; reopen must be a function; capabilities must be an array of strings'
  ],
  ['no spec', runConformance as Call, [null], 'runConformance: options must be an object, not null'],
  [
    'an invalid option',
    runConformance as Call,
    [spec, { only: 'CS-ID' }],
    'runConformance: only must be an array of strings'
  ],
  [
    'a spec without a function',
    runArtifactConformance as Call,
    [{ ...spec, reopen: undefined }],
    'runArtifactConformance: reopen must be a function'
  ]
])('a call of the kit with %s is refused with what it needs', async (_, call, given, message) => {
  await expect(call(...given)).rejects.toThrow(message)
})

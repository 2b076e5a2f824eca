/** The entry point of the process that runs conformance cases for `dogear conformance`, because a store may block or end it. */
import * as E from 'fp-ts/lib/Either.js'
import { runConformance } from '../../testing/conformance/run.js'
import { loadSpec } from './loadSpec.js'
import type { Message, Start } from './watched.js'
import { unknownFields } from '../../testing/conformance/specProblems.js'

const BEAT_MILLIS = 100

/** An unsent message means that the command has closed the channel or ended. */
const endUnlessSent = (error: Error | null): void => {
  if (error !== null) process.exit()
}

const send = (message: Message): void => void process.send?.(message, undefined, undefined, endUnlessSent)

const sendUncaught = (error: unknown): void =>
  send({ _tag: 'Uncaught', text: error instanceof Error ? (error.stack ?? error.message) : String(error) })

const run = async (start: Start): Promise<void> => {
  const beats = setInterval(() => send({ _tag: 'Beat' }), BEAT_MILLIS)
  const spec = await loadSpec(start)
  if (E.isLeft(spec)) {
    clearInterval(beats)
    return send({ _tag: 'NotLoaded', error: spec.left })
  }
  process.on('uncaughtException', sendUncaught).on('unhandledRejection', sendUncaught)
  const { name, capabilities } = spec.right
  send({ _tag: 'Loaded', store: { name, capabilities, unknownFields: unknownFields(spec.right) } })
  const { ids: only, limitMillis } = start
  await runConformance(spec.right, { only, limitMillis, onResult: (result) => send({ _tag: 'Result', result }) })
}

process.once('message', (start: Start) => void run(start))
process.once('disconnect', () => process.exit())

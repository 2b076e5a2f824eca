import { memoryStorage } from 'dogear/memory'
import * as dogear from 'dogear/promise'

const failing = dogear.workflow('failing').step('one', () => Promise.reject(new Error('no')))
const storage = memoryStorage()
const none = { id: 'none', storage }
const calls = [
  () => dogear.run(failing, { id: 'r', storage }),
  () => dogear.resume(failing, none),
  () => dogear.runOrResume(failing, { id: 's', storage }),
  () => dogear.start(failing, { id: 'r', storage }),
  () => dogear.poll(failing, none),
  () => dogear.fork({ ...none, fromStep: 'one' }),
  () => dogear.viewRun({ ...none, id: '/' }),
  () => dogear.listRuns({})
]
for (const call of calls) {
  const callers = async () => void (await call())
  const error = await callers().catch((thrown) => thrown)
  console.log(dogear.isRunFailure(error) && /^ {4}at async .*stack-/m.test(error.stack))
}

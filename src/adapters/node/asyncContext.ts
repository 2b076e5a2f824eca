/** Provides Node's asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { AsyncContext } from '../../ports/AsyncContext.js'

const storage = new AsyncLocalStorage<unknown>()

export const asyncContext: AsyncContext = {
  run: (value, act) => storage.run(value, act),
  get: () => storage.getStore()
}

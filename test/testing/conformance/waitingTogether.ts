import type { test } from 'vitest'
import type { TestRunner } from '../../../src/testing/index.js'

/** Runs the cases of claims concurrently, because some of them wait seconds for a silent owner. */
export const waitingTogether =
  (runner: typeof test): TestRunner['test'] =>
  (title, body, limitMillis) =>
    (title.startsWith('CS-CLAIM-') ? runner.concurrent : runner)(title, body, limitMillis)

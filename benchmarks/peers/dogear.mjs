// Dogear itself: JSON files, through the built package.
import { join } from 'node:path'
import { jsonFileStorage } from '../../dist/adapters/json-file/index.js'
import { runOrResume, workflow } from '../../dist/promise/index.js'

/** The run on a store; `settings` describes it. */
export const openOn = ({ steps, step }, { storage, settings, close = () => {} }) => {
  let program = workflow('bench')
  for (let index = 0; index < steps; index++) program = program.step(`step-${index}`, () => step(index))
  const go = () => runOrResume(program, { id: 'bench', storage })
  return { settings, run: go, resume: go, close }
}

export const open = async (given) =>
  openOn(given, {
    storage: jsonFileStorage(join(given.folder, 'state')),
    settings: () => 'one append and fdatasync for each step'
  })

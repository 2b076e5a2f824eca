// Dogear itself: JSON files, through the built package.
import { join } from 'node:path'
import { jsonFileStorage } from '../../dist/adapters/json-file/index.js'
import { runOrResume, workflow } from '../../dist/promise/index.js'

export const open = async ({ folder, steps, step }) => {
  let program = workflow('bench')
  for (let index = 0; index < steps; index++) program = program.step(`step-${index}`, () => step(index))
  const go = () => runOrResume(program, { id: 'bench', storage: jsonFileStorage(join(folder, 'state')) })
  return { settings: () => 'one append and fdatasync for each step', run: go, resume: go, close: async () => {} }
}

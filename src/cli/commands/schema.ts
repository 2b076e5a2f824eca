/** `dogear schema`: prints the JSON Schema of workflow files. */
import * as E from 'fp-ts/lib/Either.js'
import { ExitCode } from '../ExitCode.js'
import { printed } from '../report/runJson.js'
import { jsonSchema } from '../workflow/schema/workflow.js'
import type { Context, Result } from './Context.js'

export const schemaCommand = ({ screen }: Context): Result => {
  screen.out(printed(jsonSchema()))
  return E.right(ExitCode.done)
}

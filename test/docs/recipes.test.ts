/** The recipes: each program is short, needs the package and at most one library, and has a page that shows it as it is. */
import { readdirSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocks, read, root } from './markdown.js'

const recipes = readdirSync(join(root, 'examples/recipes'))
const pages = readdirSync(join(root, 'docs/guide/recipes'))

/** The packages of a recipe, beside this one. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  'fastify.mjs': ['fastify'],
  'pg-boss.mjs': ['pg-boss'],
  'bullmq.mjs': ['bullmq'],
  'opentelemetry.mjs': ['@opentelemetry/api', '@opentelemetry/context-async-hooks', '@opentelemetry/sdk-trace-base']
}

const importsOf = (recipe: string): readonly string[] =>
  [...read(`examples/recipes/${recipe}`).matchAll(/^import .* from '([^']+)'$/gm)].map(([, name]) => name ?? '')

test.each(recipes)('the recipe %s has at most 60 lines, and imports only this package and its library', (recipe) => {
  expect(read(`examples/recipes/${recipe}`).split('\n').length - 1).toBeLessThanOrEqual(60)
  const others = importsOf(recipe).filter(
    (name) => !/^(node:|dogear($|\/))/.test(name) && !builtinModules.includes(name)
  )
  expect(others).toEqual(LIBRARIES[recipe] ?? [])
})

test.each(recipes)('one page shows the recipe %s', (recipe) => {
  const link = `(../../../examples/recipes/${recipe})`
  expect(pages.filter((page) => read(`docs/guide/recipes/${page}`).includes(link))).toHaveLength(1)
})

test.each(pages)('the code on the page %s is in its recipe, and the list of recipes links the page', (page) => {
  const text = read(`docs/guide/recipes/${page}`)
  const [, recipe = ''] = /examples\/recipes\/([\w.-]+)\)/.exec(text) ?? []
  const program = read(`examples/recipes/${recipe}`)
  const shown = blocks(text, 'js')
  expect(shown).not.toEqual([])
  for (const block of shown) expect(program).toContain(block.trimEnd())
  expect(read('docs/guide/recipes.md')).toContain(`(recipes/${page})`)
})

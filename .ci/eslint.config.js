import { resolve } from 'node:path'
import { globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

const noDefaultExport = 'No default exports: a thing has one name.'

export default [
  globalIgnores(['dist', 'dist-*', 'docs', 'test/.tmp', 'test/matrix/node_modules']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    rules: {
      eqeqeq: 'error',
      // Prettier wraps code, not comments. A row of a table is one line.
      'max-len': ['error', { code: 1000, comments: 150, ignorePattern: '^ \\* \\|' }],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error'
    }
  },
  ...tseslint.configs.recommendedTypeChecked.map((config) => ({ ...config, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: resolve(import.meta.dirname, '..') } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { allowDefaultCaseForExhaustiveSwitch: false, considerDefaultExhaustiveForUnions: true }
      ],
      // The compiler reports these two.
      '@typescript-eslint/no-unused-vars': 'off',
      '@typescript-eslint/no-namespace': 'off',
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: noDefaultExport },
        { selector: "ExportSpecifier[exported.name='default']", message: noDefaultExport }
      ],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^fp-ts($|/(?!lib/[A-Za-z]+\\.js$))',
              message: "Write 'fp-ts/lib/Either.js': the short form type-checks, and then crashes in Node."
            },
            {
              regex: '^io-ts/(?!lib/[A-Za-z]+\\.js$)',
              message: "Write 'io-ts' or 'io-ts/lib/Schema.js': the short form type-checks, and then crashes in Node."
            }
          ]
        }
      ]
    }
  },
  { files: ['src/**/*.ts'], ignores: ['src/cli/**'], rules: { 'no-console': 'error' } },
  { files: ['test/vitest.config.ts'], rules: { 'no-restricted-syntax': 'off' } }
]

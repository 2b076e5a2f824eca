/** The size of tests: a sample in `npm test`, everything in `npm run test:sweep`. */
export const sweep = process.env['DOGEAR_SWEEP'] === '1'

/** The same cases each time, and new ones in a sweep; DOGEAR_SEED repeats them. */
export const seed = Number(process.env['DOGEAR_SEED'] ?? (sweep ? Date.now() & 0x3fffffff : 186))

export default { root: import.meta.dirname, test: { include: ['in-vitest.mjs'], reporters: ['json'] } }

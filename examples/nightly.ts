// The import of nightly.yml as a program, on the same three levels:
//
//   npm run build && node .ci/run-ts.js examples/nightly.ts
//
// Kill it anywhere and start it again: it continues between any two steps, also those of one shop. Each step writes its path
// to nightly/log.txt as it starts. A step whose path is there twice was running when the process died.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { jsonFileStorage } from 'dogear/json-file'
import { runOrResume, workflow } from 'dogear/promise'

const log = (unit: string): void => appendFileSync('nightly/log.txt', `${unit}\n`)

const nightly = workflow('nightly')
  .step('folder', ({ unit }) => {
    mkdirSync('nightly', { recursive: true })
    log(unit)
  })
  .wave('import', {
    orders: {
      steps: (orders) =>
        orders
          .step('list', ({ unit }) => {
            log(unit)
            return ['berlin', 'paris']
          })
          .map(
            'shops',
            { forEach: ({ outputs }) => outputs.list, key: (shop) => shop },
            {
              steps: (shop) =>
                shop
                  .step('fetch', async ({ unit }) => {
                    log(unit)
                    // An HTTP request, in a real import.
                    return await Promise.resolve([
                      { article: 'tea', count: 3 },
                      { article: 'cups', count: 12 }
                    ])
                  })
                  .wave('checks', {
                    rows: ({ unit, outputs }) => {
                      log(unit)
                      return outputs.fetch.length
                    },
                    sum: ({ unit, outputs }) => {
                      log(unit)
                      return outputs.fetch.reduce((sum, { count }) => sum + count, 0)
                    }
                  })
                  .step('load', ({ unit, item, outputs }) => {
                    log(unit)
                    writeFileSync(`nightly/${item}.json`, JSON.stringify(outputs.fetch))
                    return outputs.checks.rows
                  })
            }
          )
    },
    prices: {
      steps: (prices) =>
        prices
          .step('fetch', ({ unit }) => {
            log(unit)
            return { tea: 4, cups: 9 }
          })
          .step('load', ({ unit, outputs }) => {
            log(unit)
            writeFileSync('nightly/prices.json', JSON.stringify(outputs.fetch))
            return Object.keys(outputs.fetch).length
          })
    }
  })
  .step('report', ({ unit, outputs }) => {
    log(unit)
    const { orders, prices } = outputs.import
    const rows = orders.shops.reduce((sum, { load }) => sum + load, prices.load)
    const report = `2026-01-31: ${rows} rows loaded`
    writeFileSync('nightly/report.txt', `${report}\n`)
    return report
  })

const outputs = await runOrResume(nightly, { id: 'nightly-2026-01-31', storage: jsonFileStorage('state') })
console.log(outputs.report)

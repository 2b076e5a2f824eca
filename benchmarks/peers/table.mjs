// The printed table and the notes below it.

const grouped = (number) => number.toLocaleString('en-US')

const shared = (cell) => {
  if (cell === undefined) return '-'
  if (cell.late) return `> ${cell.late} s`
  if (cell.error !== undefined) return 'fails'
  return `${cell.share.toFixed(cell.share < 0.1 ? 3 : 2)} (${grouped(Math.round(cell.microsPerStep))})`
}

const perStep = ({ perStep: syncs, late }) => (late ? `> ${late} s` : (syncs?.toFixed(2) ?? '-'))

const seconds = ({ millis, late }) => (late ? `> ${late} s` : millis === undefined ? 'fails' : `${grouped(millis)}`)

export const table = (rows, sizes) => {
  const heads = [
    ['', ...sizes.map((steps) => `${grouped(steps)} steps`), 'fsyncs', 'resume', 'ran', 'install', 'import'],
    ['', ...sizes.map(() => 'share (µs)'), 'a step', 'ms', 'again', 'MB', 'ms']
  ]
  const lines = rows.map((row) => [
    `${row.title}${row.variant === 'forced' ? ', forced' : ''}${row.syncs.perStep < 0.9 ? ' *' : ''}`,
    ...sizes.map((steps) => shared(row.cells[steps])),
    perStep(row.syncs),
    seconds(row.resumed),
    `${row.resumed.ranAgain ?? '-'}`,
    (row.installedBytes / 1e6).toFixed(1),
    row.importMillis?.toFixed(0) ?? 'fails'
  ])
  const all = [...heads, ...lines]
  const widths = all[0].map((_, column) => Math.max(...all.map((line) => line[column].length)))
  const drawn = all.map((line) =>
    line.map((text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]))).join('  ')
  )
  return [...drawn.slice(0, 2), '-'.repeat(drawn[0].length), ...drawn.slice(2)].join('\n')
}

/** The message of a failed cell, and the configuration of each peer. */
export const notes = (rows) =>
  ['* Fewer syncs than steps: what was recorded survives a killed process, not a power cut.', '']
    .concat(
      rows.flatMap((row) => {
        const cells = Object.entries(row.cells)
        const settings = cells.find(([, cell]) => cell.settings !== undefined)?.[1].settings
        const versions = Object.entries(row.versions).map(([name, version]) => `${name} ${version}`)
        return [
          `${row.title}${row.variant === 'forced' ? `, forced: ${row.forced}` : ` (${versions.join(', ')})`}`,
          ...(row.variant === 'forced' ? [] : [`  ${row.compared}`]),
          `  ${settings}`,
          ...cells
            .filter(([, { error }]) => error)
            .map(([steps, { error }]) => `  ${grouped(Number(steps))} steps: ${error}`),
          ...[row.syncs, row.resumed].filter(({ error }) => error).map(({ error }) => `  ${error}`),
          ...(row.resumed.afterwards ? [`  after resuming: ${row.resumed.afterwards}`] : [])
        ]
      })
    )
    .join('\n')

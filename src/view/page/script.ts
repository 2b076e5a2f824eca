/** The script of the page: folds the tree, filters it, moves in it by keyboard, and shows details. Without it the page shows all units. */
export const SCRIPT = `'use strict'
const $ = (q, at = document) => at.querySelector(q)
const table = $('[role=treegrid]')
const rows = [...table.querySelectorAll('tbody tr')]
const bodies = [...table.tBodies]
const level = rows.map((r) => +r.ariaLevel)
const above = []
const folded = new Set()
const many = 50
for (let i = 0, path = []; i < rows.length; i++) {
  path.length = level[i] - 1
  above[i] = path.at(-1) ?? -1
  path.push(i)
}
const parts = new Array(rows.length).fill(0)
above.forEach((a) => { if (a >= 0) parts[a]++ })
const search = $('input[type=search]'), which = $('.tools select')
let details, current = 0
const read = () => details ??= JSON.parse($('#details').textContent)
const draw = () => {
  const text = search ? search.value.trim().toLowerCase() : '', kind = which ? which.value : ''
  const all = text === '' && kind === ''
  const wanted = new Uint8Array(rows.length)
  if (!all) for (let i = rows.length - 1; i >= 0; i--) {
    const c = rows[i].classList
    const fits = (kind === '' || (kind === 'f' ? c.contains('f') : !c.contains('c'))) &&
      (text === '' || read().rows[i].unit.toLowerCase().includes(text))
    if (fits) wanted[i] = 1
    if (wanted[i] && above[i] >= 0) wanted[above[i]] = 1
  }
  const open = new Uint8Array(rows.length)
  let shown = 0
  rows.forEach((row, i) => {
    const a = above[i]
    const isOpen = a < 0 || (open[a] && (!all || !folded.has(a)))
    open[i] = isOpen ? 1 : 0
    const hidden = !(isOpen && (all || wanted[i]))
    if (row.hidden !== hidden) row.hidden = hidden
    if (!hidden) shown++
    if (parts[i]) row.ariaExpanded = all ? !folded.has(i) : true
  })
  closeDetails()
  for (const body of bodies) {
    let n = 0
    for (const row of body.rows) if (!row.hidden) n++
    body.hidden = n === 0
    body.style.containIntrinsicBlockSize = 'auto ' + n * rowHeight + 'px'
  }
  $('.none').hidden = shown > 0 || rows.length === 0
  if (rows[current] && rows[current].hidden) focusable(rows.findIndex((r) => !r.hidden))
}
const rowHeight = matchMedia('(max-width: 640px)').matches ? 46 : 30
const focusable = (i) => {
  if (i < 0) return
  rows[current].tabIndex = -1
  current = i
  rows[i].tabIndex = 0
}
const go = (i) => { if (i >= 0 && i < rows.length) { focusable(i); rows[i].focus() } }
const step = (i, by) => { do i += by; while (rows[i] && rows[i].hidden); return i }
const fold = (i, shut) => { if (parts[i]) { folded[shut ? 'add' : 'delete'](i); draw() } }
const closeDetails = () => { const open = $('tr.more'); if (open) { rows[+open.dataset.of].ariaDescription = null; open.remove(); return +open.dataset.of } }
const make = (tag, text, under) => { const e = document.createElement(tag); if (text) e.textContent = text; if (under) under.append(e); return e }
const showDetails = (i) => {
  if (closeDetails() === i) return
  const d = read().rows[i], row = make('tr'), cell = make('td', '', row)
  row.className = 'more'
  row.dataset.of = i
  make('h3', d.unit, cell)
  if (d.plan) make('p', 'Resume: ' + d.plan, cell)
  const attempts = d.attempts || []
  const list = make('ol', '', cell)
  for (const [number, from, millis, end, message] of attempts) {
    const item = make('li', '', list), at = new Date(read().start + from).toISOString()
    make('b', number ? 'attempt ' + number : 'wait', item)
    make('time', at.slice(0, 10) + ' ' + at.slice(11, 23), item).dateTime = at
    make('span', end.startsWith('cut') ? end : end + ' after ' + (millis < 1e3 ? millis + ' ms' : millis < 6e4 ? (millis / 1e3).toFixed(1) + ' s' : (millis / 6e4).toFixed(1) + ' min'), item)
    if (message) make('pre', message, item)
  }
  if (d.error && !attempts.some((a) => a[4] === d.error)) make('pre', d.error, cell)
  if (d.output !== undefined) { make('h4', 'Output', cell); make('pre', d.output, cell) }
  if (d.evidence) { make('h4', 'Evidence', cell); make('pre', d.evidence.join('\\n'), cell) }
  rows[i].after(row)
}
table.addEventListener('click', (e) => {
  const row = e.target.closest('tbody tr')
  const i = rows.indexOf(row)
  if (i < 0) return
  go(i)
  if (e.target.closest('th b') && parts[i]) fold(i, !folded.has(i))
  else if (!String(getSelection())) showDetails(i)
})
table.addEventListener('keydown', (e) => {
  const i = rows.indexOf(e.target)
  if (i < 0 || e.ctrlKey || e.metaKey || e.altKey) return
  const act = {
    ArrowDown: () => go(step(i, 1)),
    ArrowUp: () => go(step(i, -1)),
    ArrowRight: () => (parts[i] && folded.has(i) ? fold(i, false) : parts[i] ? go(step(i, 1)) : 0),
    ArrowLeft: () => (parts[i] && !folded.has(i) ? fold(i, true) : go(above[i])),
    Home: () => go(step(-1, 1)),
    End: () => go(step(rows.length, -1)),
    Enter: () => showDetails(i),
    ' ': () => showDetails(i),
    Escape: closeDetails
  }[e.key]
  if (act) { e.preventDefault(); act() }
})
table.addEventListener('mouseover', (e) => {
  const cell = e.target.closest('td[aria-label]')
  if (cell && !cell.title) cell.title = cell.ariaLabel.replaceAll('; ', '\\n')
})
const jump = () => {
  const i = /^#u\\d+$/.test(location.hash) ? rows.indexOf($(location.hash)) : -1
  if (i < 0) return
  for (let a = above[i]; a >= 0; a = above[a]) folded.delete(a)
  if (search) search.value = which.value = ''
  draw()
  go(i)
  showDetails(i)
}
rows.forEach((row, i) => { row.tabIndex = -1; if (parts[i] > many) folded.add(i) })
const tools = $('.tools')
if (tools) {
  tools.hidden = false
  search.addEventListener('input', draw)
  which.addEventListener('change', draw)
}
document.addEventListener('click', (e) => {
  const what = e.target.dataset && e.target.dataset.do
  if (what === 'open') folded.clear()
  if (what === 'close') parts.forEach((n, i) => n && folded.add(i))
  if (what === 'open' || what === 'close') draw()
  if (what === 'copy') navigator.clipboard.writeText($('code', e.target.parentNode).textContent).then(() => { e.target.textContent = 'Copied' }, () => {})
})
if (navigator.clipboard) for (const b of document.querySelectorAll('[data-do=copy]')) b.hidden = false
if (rows.length) { draw(); focusable(0) }
addEventListener('hashchange', jump)
jump()
`

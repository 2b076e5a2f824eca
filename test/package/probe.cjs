// Loads entry points (argv: import or require, then their names) and prints what each did to the process.
const fs = require('node:fs')

function snapshot() {
  return {
    listeners: process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`),
    globals: Reflect.ownKeys(globalThis).map(String),
    fs: Object.entries(fs)
  }
}

async function probe(way, entryPoint) {
  const before = snapshot()
  const loaded = way === 'require' ? require(entryPoint) : await import(entryPoint)
  const after = snapshot()
  return {
    exports: Object.keys(loaded).sort(),
    listeners: after.listeners.filter((name) => !before.listeners.includes(name)),
    globals: after.globals.filter((name) => !before.globals.includes(name)),
    patched: after.fs
      .filter(([name, value]) => before.fs.every(([was, old]) => was !== name || old !== value))
      .map(([name]) => name),
    commonJs: Object.keys(require.cache)
  }
}

async function probeAll([way, ...entryPoints]) {
  const found = []
  for (const entryPoint of entryPoints) found.push([entryPoint, await probe(way, entryPoint)])
  return found
}

probeAll(process.argv.slice(2)).then((found) => console.log(JSON.stringify(found)))

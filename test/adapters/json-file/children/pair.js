// A process that checks an owner in another container with the same mounts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { jsonFileStorage } from '../../../../dist/adapters/json-file/index.js'

const [root] = process.argv.slice(2)
const words = ['--fork', '--kill-child', '--pid', '--mount-proc', process.execPath]
const owner = spawn('unshare', [...words, fileURLToPath(new URL('owner.mjs', import.meta.url)), root], {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc']
})
const said = async (tag) => {
  for (;;) {
    const [message] = await once(owner, 'message')
    if (message._tag === tag) return
  }
}
await said('Ready')
owner.send({ op: 'claim', runId: 'a' })
await said('Granted')
owner.send({ op: 'save', count: 1 })
await said('Done')

process.on('message', async (message) => {
  if (message.op === 'kill') {
    owner.kill('SIGKILL')
    await once(owner, 'disconnect')
    process.send({ _tag: 'Told' })
  } else {
    const { right } = await jsonFileStorage(root).load('a')()
    process.send({ _tag: 'Seen', heldBy: right.value.heldBy.value ?? null })
  }
})
process.send({ _tag: 'Ready', pid: process.pid })

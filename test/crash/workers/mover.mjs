// Moves a run between two stores, and dies before or after the k-th call of a port.
import { move } from '../../../src/hosts/move.ts'
import { nodeEnvironment } from '../../../src/adapters/node/index.ts'
import { openStore } from '../stores.ts'

const { from, to, kill } = JSON.parse(process.argv[2])
let calls = 0

const die = () => {
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

const counting = (port) =>
  new Proxy(port, {
    get: (target, name) => {
      const member = Reflect.get(target, name)
      if (typeof member !== 'function' || name === 'isAny') return member
      return (...given) => {
        const task = member(...given)
        if (typeof task !== 'function') return task
        return async () => {
          calls += 1
          if (calls === kill?.at && kill.when === 'before') die()
          const ended = task()
          if (calls === kill?.at && kill.when === 'during') setTimeout(die, kill.millis)
          const result = await ended
          return calls === kill?.at && kill.when === 'after' ? die() : result
        }
      }
    }
  })

const environmentOf = ({ storage, artifacts, requests }) =>
  nodeEnvironment(counting(storage), { artifacts: counting(artifacts), requests: counting(requests) })

const [source, target] = [await openStore(from), await openStore(to)]
const moved = await move('r', { from, to, target: environmentOf(target) })(environmentOf(source))()
await source.close()
await target.close()
console.log(JSON.stringify({ outcome: moved, calls }))

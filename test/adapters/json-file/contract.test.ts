import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { storageContract } from '../storageContract.js'
import { folder, processNumber } from './kit.js'

storageContract('the JSON file store', () => {
  const root = folder()
  let number = 0
  const reopen = () => jsonFileStorage(root, { processes: processNumber(++number) })
  return Promise.resolve({ storage: reopen(), reopen })
})

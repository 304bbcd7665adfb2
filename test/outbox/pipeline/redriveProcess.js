// Puts all dead letters of an outbox back to wait, and dies when it looks at the letter after so many: `redriveProcess.js FOLDER COUNT`.
import { lmdbOutbox } from '../../../dist/outbox/lmdb/index.js'

const [path, count] = process.argv.slice(2)
const codec = {
  kind: 'events',
  toText: (item) => item,
  fromText: (item) => item,
  sizeOf: (item) => item.length,
}
const { dead } = lmdbOutbox({ path, codec })
let seen = 0
await dead.redrive(() => {
  if (seen++ === Number(count)) process.kill(process.pid, 'SIGKILL')
  return true
})

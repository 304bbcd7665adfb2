// Appends one item after the other and says so: `syncedProcess.js FOLDER COUNT`.
import { writeSync } from 'node:fs'
import { lmdbOutbox } from '../../../dist/outbox/lmdb/index.js'
import { codec, textOf } from './killedItems.js'

const [path, count] = process.argv.slice(2)
const outbox = lmdbOutbox({ path, codec })
for (let number = 1; number <= Number(count); number++) {
  await outbox.append(textOf(`1-${number}`))
  writeSync(1, `accepted ${number}\n`)
}
await outbox.close()

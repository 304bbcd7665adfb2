// Opens an outbox, appends once, and closes it: `openingProcess.js FOLDER TEXT`. It says, at once, what was answered.
import { writeSync } from 'node:fs'
import { lmdbOutbox } from '../../../dist/outbox/lmdb/index.js'

const [path, text] = process.argv.slice(2)
const codec = { toText: (item) => item, fromText: (item) => item, sizeOf: (item) => item.length }
const outbox = lmdbOutbox({ path, codec })
await outbox.enqueue([text])
writeSync(1, 'appended\n')
await outbox.close()
writeSync(1, 'closed\n')

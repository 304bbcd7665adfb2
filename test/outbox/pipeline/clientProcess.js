// A host that records messages by a client until it is killed: `clientProcess.js FOLDER ENDPOINT`. On stdin it reads their names. On stdout it
// tells, a line each and at once, what is offered, what is in keeping, what has ended, and at the end its totals.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createClient } from '../../../dist/client/index.js'
import { callOf } from './messages.js'

/** After so many calls the host wants to know that they are kept. */
const AT_ONCE = 25

const [path, endpoint] = process.argv.slice(2)
const tell = (said) => writeSync(1, `${JSON.stringify(said)}\n`)

const client = createClient('wk', { endpoint, outbox: { path }, logger: false, timeout: 600_000 })
client.outcomes$.subscribe(({ _tag, item }) => {
  tell({ t: 'outcome', outcome: _tag.toLowerCase(), id: item.id })
})

let closing = false
const record = async (names) => {
  for (const name of names) {
    tell({ t: 'offered', name })
    const answer = client.send(callOf(name))
    if (answer._tag === 'Left') tell({ t: 'refused', name, why: answer.left._tag })
  }
  if (!(await client.persisted())) throw new Error('it is not kept')
  for (const name of names) tell({ t: 'accepted', name })
}

process.on('SIGINT', () => {
  closing = true
  void client.close({ timeout: Infinity })
})

let names = []
for await (const name of createInterface({ input: process.stdin })) {
  if (closing) continue
  names.push(name)
  if (names.length < AT_ONCE) continue
  await record(names)
  names = []
}
if (!closing) await record(names)
const { totals } = await client.close({ timeout: Infinity })
tell({ t: 'summary', ...totals })

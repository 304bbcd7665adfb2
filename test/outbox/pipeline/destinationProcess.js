// A host that sends messages by a destination until it is killed: `destinationProcess.js FOLDER URL CALLERS IN_ROUND [PLANT]`. On stdin it
// reads their names. On stdout it tells, a line each and at once, what is offered, what was accepted, what has ended, and at the end its totals.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { webhookDestination } from '../../../dist/destination/index.js'
import { callOf } from './messages.js'

const [path, url, callers, maxInFlight, plant] = process.argv.slice(2)
const tell = (said) => writeSync(1, `${JSON.stringify(said)}\n`)

const destination = webhookDestination(
  { sharedSecret: 'correct horse', webhooks: [{ url }] },
  // The receiver leaves some requests without an answer until it is healed.
  { outbox: { path }, maxInFlight: Number(maxInFlight), timeout: 600_000, logger: false },
)
destination.outcomes$.subscribe(({ _tag, item }) => {
  tell({ t: 'outcome', outcome: _tag.toLowerCase(), id: item.id })
})

process.on('SIGINT', () => {
  void destination.close({ timeout: Infinity })
})

const accepted = (name) => {
  tell({ t: 'accepted', name })
}

/** As it is meant: it waits until the destination has answered. */
const send = async (name) => {
  const answer = await destination.send(callOf(name))
  if (answer._tag === 'Right') accepted(name)
  else if (answer.left._tag !== 'Closed') tell({ t: 'refused', name, why: answer.left._tag })
}

const kept = []
let count = 0
/** A defect that is planted: it says of every twentieth message that it has it, and offers it when all others have ended. */
const sendTooLate = async (name) => {
  if (++count % 20 !== 0) return send(name)
  kept.push(name)
  accepted(name)
}

const how = plant === 'sendTooLate' ? sendTooLate : send
const names = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const call = async () => {
  for (let next = await names.next(); !next.done; next = await names.next()) {
    tell({ t: 'offered', name: next.value })
    await how(next.value)
  }
}
await Promise.all(Array.from({ length: Number(callers) }, call))
await destination.idle()
await Promise.all(kept.map((name) => destination.send(callOf(name))))
await destination.idle()
const { totals } = await destination.close()
tell({ t: 'summary', ...totals })

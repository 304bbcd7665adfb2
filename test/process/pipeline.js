// A host that sends messages until it is killed: `pipeline.js destination|early|client|operators FOLDER URL`. It reads names on stdin.
// On stdout it tells, a line each and at once, each offered, accepted and ended message, and at the end its totals.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { pipe } from 'rxjs'
import { callOf } from './messages.js'

const CALLERS = 32
/** The host of a client asks from time to time whether its calls are stored. */
const CALLS = 25

const [kind, path, url] = process.argv.slice(2)
const tell = (said) => writeSync(1, `${JSON.stringify(said)}\n`)
const tellOutcomes = ({ outcomes$ }) =>
  outcomes$.subscribe(({ _tag, item }) => {
    tell({ t: 'outcome', outcome: _tag.toLowerCase(), id: item.id })
  })
const names = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
// The receiver leaves some requests without an answer.
const options = { outbox: { path }, logger: false, timeout: 600_000 }

const sendByDestination = async () => {
  const { webhookDestination } = await import('../../dist/destination/index.js')
  const settings = { sharedSecret: 'correct horse', webhooks: [{ url }] }
  const destination = webhookDestination(settings, { ...options, maxInFlight: 64 })
  tellOutcomes(destination)
  process.on('SIGINT', () => void destination.close({ timeout: Infinity }))
  const call = async () => {
    for (let next = await names.next(); !next.done; next = await names.next()) {
      const name = next.value
      tell({ t: 'offered', name })
      // A planted defect: some messages are acknowledged and never sent.
      if (kind === 'early' && Number(name.slice(1)) % 20 === 7) {
        tell({ t: 'accepted', name })
        continue
      }
      const answer = await destination.send(callOf(name))
      if (answer._tag === 'Right') tell({ t: 'accepted', name })
      else if (answer.left._tag !== 'Closed') tell({ t: 'refused', name, why: answer.left._tag })
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, call))
  await destination.idle()
  return destination.close()
}

const sendByClient = async () => {
  const { createClient } = await import('../../dist/client/index.js')
  const client = createClient('wk', { endpoint: url, ...options })
  tellOutcomes(client)
  let isClosing = false
  process.on('SIGINT', () => {
    isClosing = true
    void client.close({ timeout: Infinity })
  })
  for (let isDone = false; !isDone && !isClosing;) {
    const some = []
    while (some.length < CALLS && !isDone) {
      const next = await names.next()
      if (next.done) isDone = true
      else some.push(next.value)
    }
    if (isClosing) break
    for (const name of some) {
      tell({ t: 'offered', name })
      const answer = client.send(callOf(name))
      if (answer._tag === 'Left') tell({ t: 'refused', name, why: answer.left._tag })
    }
    if (!(await client.persisted())) throw new Error('they are not stored')
    for (const name of some) tell({ t: 'accepted', name })
  }
  return client.close({ timeout: Infinity })
}

const sendByOperators = async () => {
  const { deliver, encode, validate } = await import('../../dist/index.js')
  const { Event, toWebhookBody } = await import('../../dist/event/index.js')
  const { exponential } = await import('../../dist/policy/index.js')
  const { pull } = await import('../../dist/sources/pull.js')
  const { lmdbOutbox } = await import('../../dist/outbox/lmdb/index.js')
  const { webhook } = await import('../../dist/http/webhook.js')
  const calls = async function* () {
    for await (const name of names) {
      tell({ t: 'offered', name })
      yield callOf(name)
    }
  }
  const outbox = lmdbOutbox({ path })
  const onEvent = ({ _tag, item }) =>
    _tag === 'Accepted' && tell({ t: 'accepted', name: item.items[0].event })
  const hook = webhook({ url, timeout: options.timeout })
  const retry = exponential({ base: 500, factor: 1 })
  const pipeline = pipe(validate(Event), encode(toWebhookBody), deliver(hook, { outbox, retry, onEvent }))
  const ended$ = pull(calls(), pipeline, { window: 64 })
  await ended$.forEach((ended) => {
    tell({ t: 'outcome', outcome: ended._tag.toLowerCase(), id: ended.item?.id })
  })
  await hook.close()
  await outbox.close()
  return {}
}

const send = {
  destination: sendByDestination,
  early: sendByDestination,
  client: sendByClient,
  operators: sendByOperators,
}
const { totals } = await send[kind]()
tell({ t: 'summary', ...totals })

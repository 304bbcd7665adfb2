// A host that sends messages until it is killed: `pipeline.js destination|ordered|early|client|operators|collector FOLDER|postgres://… URL`.
// Over PostgreSQL it is one of several workers. It reads names on stdin.
// On stdout it tells, a line each and at once, each offered, accepted and ended message, and at the end its totals.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Subject, pipe } from 'rxjs'
import { WINDOW, callOf, keyOf } from './messages.js'

const [kind, path, url] = process.argv.slice(2)
const tell = (said) => writeSync(1, `${JSON.stringify(said)}\n`)
const tellOutcomes = ({ outcomes$ }) =>
  outcomes$.subscribe(({ _tag, item }) => {
    tell({ t: 'outcome', outcome: _tag.toLowerCase(), id: item.id })
  })
const names = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const groups = async function* (count) {
  const some = []
  for await (const name of names) if (some.push(name) === count) yield some.splice(0)
  if (some.length > 0) yield some
}
// The receiver leaves some requests without an answer.
const options = { outbox: { path }, logger: false, timeout: 600_000 }
let end = () => undefined

const share = async () => {
  const { default: pg } = await import('pg')
  const { both, deadline, exponential } = await import('../../dist/policy/index.js')
  const { postgres } = await import('../../dist/outbox/postgres/postgresOutbox.js')
  const pool = new pg.Pool({ connectionString: path, max: 5 })
  pool.on('error', () => undefined)
  end = () => pool.end()
  options.outbox = postgres({ pool, queue: 'kills', leaseTime: 5_000 })
  options.retry = both(exponential({ base: 300, factor: 1 }), deadline(WINDOW))
}
const isShared = path.startsWith('postgres:')
if (isShared) await share()
// Without its server it would wait for ever once the test is gone.
setInterval((parent) => process.ppid !== parent && process.exit(1), 1_000, process.ppid).unref()

const sendByDestination = async () => {
  const { webhookDestination } = await import('../../dist/destination/index.js')
  const settings = { sharedSecret: 'correct horse', webhooks: [{ url }] }
  const order = kind === 'ordered' && { orderBy: ({ event }) => keyOf(event) }
  const destination = webhookDestination(settings, { ...options, ...order, maxInFlight: 64 })
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
      let answer = await destination.send(callOf(name))
      // The server was stopped, and may have stored it.
      while (answer._tag === 'Left' && answer.left._tag === 'NotStored') {
        await sleep(50)
        tell({ t: 'offered', name })
        answer = await destination.send(callOf(name))
      }
      if (answer._tag === 'Right') tell({ t: 'accepted', name })
      else if (answer.left._tag !== 'Closed') tell({ t: 'refused', name, why: answer.left._tag })
    }
  }
  await Promise.all(Array.from({ length: 32 }, call))
  await destination.idle()
  return destination.close()
}

/** A client stores again, by itself, what a server may have stored whose answer was lost. */
const tellingAgain = (make) => (of) => {
  const store = make(of)
  const enqueue = (items) =>
    store.enqueue(items).catch((error) => {
      for (const { id } of items) tell({ t: 'offered', name: id.slice(2) })
      throw error
    })
  return { ...store, enqueue }
}

const sendByClient = async () => {
  const { createClient } = await import('../../dist/client/index.js')
  if (isShared) options.outbox = tellingAgain(options.outbox)
  const client = createClient('wk', { endpoint: url, ...options })
  tellOutcomes(client)
  let isClosing = false
  process.on('SIGINT', () => {
    isClosing = true
    void client.close({ timeout: Infinity })
  })
  // The host asks from time to time whether its calls are stored.
  for await (const some of groups(25)) {
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
  const { storedEvents } = await import('../../dist/destination/index.js')
  const { exponential } = await import('../../dist/policy/index.js')
  const { pull } = await import('../../dist/sources/pull.js')
  const { lmdbOutbox } = await import('../../dist/outbox/lmdb/index.js')
  const { webhook } = await import('../../dist/http/webhook.js')
  const outbox = isShared ? options.outbox({ codec: storedEvents }) : lmdbOutbox({ path })
  const { retry = exponential({ base: 500, factor: 1 }), timeout } = options
  const open = new Set()
  const offered = (name) => {
    open.add(name)
    tell({ t: 'offered', name })
    return callOf(name)
  }
  const onEvent = ({ _tag, item }) => {
    if (_tag !== 'Accepted') return
    tell({ t: 'accepted', name: item.items[0].event })
    open.delete(item.items[0].event)
  }
  const source$ = new Subject()
  const heard = ({ _tag, item, input }) => {
    if (_tag === 'NotStored') setTimeout(() => source$.next(offered(input.items[0].event)), 50)
    else tell({ t: 'outcome', outcome: _tag.toLowerCase(), id: item?.id })
  }
  const hook = webhook({ url, timeout })
  const delivery = deliver(hook, { outbox, retry, onEvent, ...(isShared && { maxInFlight: 64 }) })
  const pipeline = pipe(validate(Event), encode(toWebhookBody), delivery)
  const calls = async function* () {
    for await (const name of names) yield offered(name)
  }
  // Credit counts outcomes, and those of a shared queue come out of any worker.
  const ended = (isShared ? pipeline(source$) : pull(calls(), pipeline, { window: 64 })).forEach(heard)
  if (isShared) {
    for await (const name of names) {
      while (open.size >= 64) await sleep(1)
      source$.next(offered(name))
    }
    while (open.size > 0) await sleep(1)
    source$.complete()
  }
  await ended
  await hook.close()
  await outbox.close()
  return {}
}

const sendByCollector = async () => {
  const { createCollector } = await import('../../dist/collector/index.js')
  const { outbox, ...rest } = options
  const collector = createCollector(
    {
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [{ name: 'hook', sources: ['web'], webhooks: [{ url }] }],
    },
    { ...rest, maxInFlight: 64, outbox: () => outbox },
  )
  collector.outcomes$.subscribe(({ outcome: { _tag, item } }) => {
    tell({ t: 'outcome', outcome: _tag.toLowerCase(), id: item.id })
  })
  const headers = { 'Content-Type': 'application/json', Authorization: `Basic ${btoa('wk:')}` }
  const post = async (some) => {
    for (const name of some) tell({ t: 'offered', name })
    const body = JSON.stringify({ batch: some.map(callOf) })
    const request = new Request('http://host/v1/batch', { method: 'POST', headers, body })
    const { status } = await collector.handle(request)
    if (status !== 200) return sleep(50).then(() => post(some))
    for (const name of some) tell({ t: 'accepted', name })
  }
  for await (const some of groups(20)) await post(some)
  await collector.idle()
  await collector.close()
  return {}
}

const others = { client: sendByClient, operators: sendByOperators, collector: sendByCollector }
const { totals } = await (others[kind] ?? sendByDestination)()
tell({ t: 'summary', ...totals })
await end()

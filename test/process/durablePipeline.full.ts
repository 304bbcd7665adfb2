/** The pipeline of docs/examples/03-durable-pipeline.ts, over the built package, killed with SIGKILL between its attempts. */
import { fork, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Outcome, Refusal } from '../../src/index.ts'
import type { BatchPayload } from '../../src/event/payload.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { newFolder, projectFolder } from '../support/folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
let scratch = ''

beforeAll(() => {
  scratch = projectFolder()
  const source = readFileSync(`${root}docs/examples/03-durable-pipeline.ts`, 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  })
  writeFileSync(`${scratch}/pipeline.js`, outputText)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** As the pipeline writes it. */
interface Order {
  readonly tenant: string
  readonly id: string
  readonly at: string
}
type Ended = Refusal | Outcome<BatchPayload<{ readonly id: string; readonly at: Date }>>

const TENANTS = ['red', 'blue'] as const
/** Attempts that fail, each in a life of its own: as many as there are kills. */
const KILLS = 3
const NO_ANSWER = 20_000

const ordersOf = (tenant: string, first: number, count: number): ReadonlyArray<Order> =>
  Array.from({ length: count }, (_, n) => ({
    tenant,
    id: `${tenant}${String(first + n)}`,
    at: new Date(Date.UTC(2024, 1, first + n)).toISOString(),
  }))

/** The bodies that the pipeline makes of a tenant's orders of one life, in batches of two. */
const bodiesOf = (orders: ReadonlyArray<Order>): ReadonlyArray<string> => {
  const priced = orders.map((order) => ({ ...order, price: order.id.length * 5 }))
  return priced.flatMap((_, at) => (at % 2 === 0 ? [JSON.stringify(priced.slice(at, at + 2))] : []))
}

const countBy = (texts: ReadonlyArray<string>): ReadonlyMap<string, number> =>
  texts.reduce((counts, text) => counts.set(text, (counts.get(text) ?? 0) + 1), new Map<string, number>())

const bodies = ({ received }: Receiver): ReadonlyArray<string> => received.map(({ body }) => body.toString())

const until = async (what: string, isSo: () => boolean): Promise<void> => {
  const limit = Date.now() + NO_ANSWER
  while (!isSo()) {
    if (Date.now() > limit) throw new Error(`not seen: ${what}`)
    await sleep(10)
  }
}

test('three 503s and a kill after each: every order at its own tenant, signed, same bytes, one outcome', async () => {
  const path = newFolder()
  /** A request is refused if its body has come to this receiver at most so often. */
  const receiverThat = async (refuses: number): Promise<Receiver> => {
    const receiver: Receiver = await loopbackReceiver(({ body }) => {
      const times = countBy(bodies(receiver)).get(body.toString()) ?? 0
      return { do: 'status', code: times <= refuses ? 503 : 200 }
    })
    onTestFinished(() => receiver.close())
    return receiver
  }
  // The webhook of blue never recovers: its standby takes over.
  const receivers = {
    red: [await receiverThat(KILLS), await receiverThat(KILLS)],
    blue: [await receiverThat(Infinity), await receiverThat(KILLS)],
  }
  const urls = JSON.stringify(
    Object.fromEntries(
      Object.entries(receivers).map(([tenant, pair]) => [tenant, pair.map(({ url }) => url)]),
    ),
  )
  const ended: Ended[] = []
  const start = (orders: ReadonlyArray<unknown>): ChildProcess => {
    const args = ['worker', path, urls, JSON.stringify(orders)]
    const worker = fork(`${scratch}/pipeline.js`, args, { serialization: 'advanced' })
    onTestFinished(() => void worker.kill('SIGKILL'))
    // The worker sends nothing else.
    return worker.on('message', (each) => ended.push(each as Ended))
  }

  const given = { red: ordersOf('red', 1, 5), blue: ordersOf('blue', 1, 4) }
  const late = ordersOf('red', 11, 3)
  const expected = { red: [...bodiesOf(given.red), ...bodiesOf(late)], blue: bodiesOf(given.blue) }
  const mixed = given.red.flatMap((order, at) => [order, ...given.blue.slice(at, at + 1)])
  const invalid = { tenant: 'red', id: 'red99', at: 'yesterday' }
  const [unknown] = ordersOf('green', 1, 1)

  for (let life = 1; life <= KILLS; life++) {
    const worker = start([[...mixed, invalid, unknown], late, []][life - 1] ?? [])
    // Those of the second life have had one attempt less.
    const attemptsOf = (body: string): number => (bodiesOf(late).includes(body) ? life - 1 : life)
    await until(`attempt ${String(life)} at every webhook and standby`, () =>
      TENANTS.every((tenant) =>
        receivers[tenant].every((receiver) => {
          const counts = countBy(bodies(receiver))
          return expected[tenant].every((body) => (counts.get(body) ?? 0) >= attemptsOf(body))
        }),
      ),
    )
    // The last answers arrive and are stored; the next attempt is 500 ms away.
    await sleep(200)
    worker.kill('SIGKILL')
    await once(worker, 'exit')
  }
  expect(ended.filter(({ _tag }) => _tag === 'Delivered')).toEqual([])
  const last = start([])
  expect(await Promise.all([once(last, 'exit'), once(last, 'disconnect')])).toEqual([[0, null], []])

  for (const tenant of TENANTS)
    for (const receiver of receivers[tenant]) {
      expect(new Set(bodies(receiver))).toEqual(new Set(expected[tenant]))
      for (const { headers, body } of receiver.received)
        expect(headers['x-signature']).toBe(createHmac('sha1', 'correct horse').update(body).digest('hex'))
    }
  const delivered = ended.flatMap((each) => (each._tag === 'Delivered' ? [each] : []))
  const others = ended.filter(({ _tag }) => _tag !== 'Delivered')
  const byId = (one: { readonly id: string }, other: { readonly id: string }): number =>
    one.id < other.id ? -1 : 1
  expect(delivered.flatMap(({ item }) => [...item.items]).sort(byId)).toEqual(
    [...mixed, ...late]
      .sort(byId)
      .map((order) => ({ ...order, at: new Date(order.at), price: order.id.length * 5 })),
  )
  expect(delivered.every(({ attempts }) => attempts > 1)).toBe(true)
  expect(new Set(delivered.map(({ receipt }) => receipt.sink))).toEqual(
    new Set([receivers.red[0], receivers.blue[1]].map((receiver) => receiver?.url)),
  )
  expect(others).toMatchObject([
    { _tag: 'Invalid', faults: [{ path: 'at' }] },
    { _tag: 'Rejected', failure: { reason: 'noRoute' }, item: { items: [{ id: 'green1' }] } },
  ])
})

// Orders in signed batches by tenant, stored in a folder, with a standby each: `kill -9` loses none. Needs lmdb.
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { batch, deliver, encode, enrich, failover, route, sign, validate } from 'headrace'
import { exponential } from 'headrace/policy'
import type { BatchPayload, Outcome } from 'headrace'
import { lmdbOutbox } from 'headrace/outbox/lmdb'
import { webhook } from 'headrace/sinks/webhook'
import { loopbackReceiver } from 'headrace/testing'
import * as t from 'io-ts'
import { from, groupBy, lastValueFrom, mergeMap, tap } from 'rxjs'

const isDate = (value: unknown): value is Date => value instanceof Date && value.getTime() > 0
const readDate: t.Validate<unknown, Date> = (input, context) => {
  const date = new Date(String(input))
  return isDate(date) ? t.success(date) : t.failure(input, context)
}
const Time = new t.Type<Date, string>('Time', isDate, readDate, (date) => date.toISOString())
const Order = t.type({ tenant: t.string, id: t.string, at: Time })
const Priced = t.intersection([Order, t.type({ price: t.number })])
type Priced = t.TypeOf<typeof Priced>
const priceOf = async (id: string): Promise<number> => id.length * 5

/** One life of the pipeline. A batch is safe when it is in the folder; until then its orders are in memory. */
const run = async (path: string, hooks: Record<string, string[]>, orders: unknown[]): Promise<void> => {
  const outbox = lmdbOutbox<BatchPayload<Priced>>({ path, item: Priced })
  const byTenant = route({
    keyOf: ({ items }: BatchPayload<Priced>) => items[0]?.tenant ?? '',
    open: (tenant) => hooks[tenant] && failover(hooks[tenant].map((url) => webhook(url))),
  })
  const ended$ = from(orders).pipe(
    validate(Order),
    enrich(async (order) => ({ ...order, price: await priceOf(order.id) })),
    encode((order) => order, { idOf: ({ id }) => id }),
    groupBy((each) => (each._tag === 'Right' ? each.right.items[0].tenant : '')),
    mergeMap((tenant) => tenant.pipe(batch({ maxCount: 2, maxDelay: 100 }))),
    sign('correct horse'),
    deliver(byTenant, { outbox, retry: exponential({ base: 500, factor: 1 }) }),
    tap((ended) => process.send?.(ended)),
  )
  await lastValueFrom(ended$, { defaultValue: undefined })
  await outbox.close()
  await byTenant.close({ timeout: 1_000 })
}

const [, , role, folder, hooks, orders] = process.argv
if (role === 'worker') await run(folder, JSON.parse(hooks), JSON.parse(orders))
else {
  const path = mkdtempSync(`${tmpdir()}/orders-`)
  let code = 503
  const { url, arrived, received, close } = await loopbackReceiver(() => ({ do: 'status', code }))
  const urls = JSON.stringify({ red: [`${url}red`, `${url}red2`], blue: [`${url}blue`, `${url}blue2`] })
  const start = (given: t.OutputOf<typeof Order>[]): ChildProcess => {
    const args = ['worker', path, urls, JSON.stringify(given)]
    return fork(fileURLToPath(import.meta.url), args, { serialization: 'advanced' })
  }
  const at = '2024-02-29T12:00:00.000Z'
  const first = start(['red', 'blue', 'red'].map((tenant, n) => ({ tenant, id: `o${n}`, at })))
  await arrived(4) // two tenants, a webhook and its standby each
  first.kill('SIGKILL')

  code = 200
  const second = start([])
  const ended: string[] = []
  second.on('message', ({ _tag, item: { items } }: Outcome<BatchPayload<Priced>>) =>
    ended.push(`${_tag} ${items.map(({ id, at }) => `${id} of ${at.getFullYear()}`)}`),
  )
  await once(second, 'disconnect') // after its last message
  console.log(ended.sort()) // => [ 'Delivered o0 of 2024,o2 of 2024', 'Delivered o1 of 2024' ]
  const red = received.filter((each) => each.path.startsWith('/red'))
  console.log(new Set(red.map((each) => each.path))) // => Set(2) { '/red', '/red2' }
  console.log(new Set(red.map(({ headers, body }) => `${headers['x-signature']} ${body}`)).size) // => 1
  await close()
  rmSync(path, { recursive: true })
}

// One pipeline and one outbox for all tenants; each tenant has its own webhook and secret.
import { createHmac } from 'node:crypto'
import { deliver, encode, isOutcome, lift, route, withConcurrency } from 'headrace'
import type { EventPayload } from 'headrace'
import { webhook } from 'headrace/sinks/webhook'
import { loopbackReceiver } from 'headrace/testing'
import { from, lastValueFrom, tap } from 'rxjs'

interface Order {
  readonly tenant: string
  readonly id: string
}
const red = await loopbackReceiver()
const blue = await loopbackReceiver()
const tenants = new Map([
  ['red', { url: red.url, secret: 'secret of red' }],
  ['blue', { url: blue.url, secret: 'secret of blue' }],
])

const byTenant = route({
  keyOf: ({ items: [{ tenant }] }: EventPayload<Order>) => tenant,
  open: (tenant) => {
    const settings = tenants.get(tenant)
    if (settings === undefined) return undefined // the item is rejected as noRoute
    // A tenant that does not answer has at most 20 of the 1,000 items that deliver has in flight.
    return withConcurrency({ concurrency: 4, queue: 16 })(webhook({ ...settings, connections: 4 }))
  },
  maxCount: 100,
})

const orders = ['red', 'blue', 'green', 'red'].map((tenant, at): Order => ({ tenant, id: `o${at}` }))
const ended$ = from(orders).pipe(
  lift(),
  encode((order) => order, { idOf: ({ id }) => id }),
  deliver(byTenant),
  tap((ended) => {
    if (isOutcome(ended) && ended._tag === 'Rejected') console.log(ended.item.id, ended.failure)
  }),
)
await lastValueFrom(ended$)
// => o2 { _tag: 'Refused', reason: 'noRoute', detail: 'no sink for the key of this item' }
console.log(red.received.length, blue.received.length) // => 2 1

const [request] = blue.received
const expected = createHmac('sha1', 'secret of blue')
  .update(request?.body ?? '')
  .digest('hex')
console.log(request?.headers['x-signature'] === expected) // => true

await byTenant.close({ timeout: 1_000 })
await red.close()
await blue.close()

// What waits is in a folder: it survives the process. Needs the package lmdb.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { deliver, encode, lift } from 'headrace'
import type { Payload } from 'headrace'
import { lmdbOutbox } from 'headrace/outbox/lmdb'
import { webhook } from 'headrace/sinks/webhook'
import { loopbackReceiver } from 'headrace/testing'
import { EMPTY, from, lastValueFrom, timer } from 'rxjs'
import type { Observable } from 'rxjs'

interface Order {
  readonly id: string
}
const path = mkdtempSync(`${tmpdir()}/orders-`)
let isUp = false
const receiver = await loopbackReceiver(() => ({ do: 'status', code: isUp ? 200 : 503 }))

/** One life of the process. */
const run = async (orders: Observable<Order>, stop?: Observable<unknown>): Promise<number> => {
  // The secret is given to the webhook: a signer is not stored.
  const hook = webhook({ url: receiver.url, secret: 'correct horse' })
  const outbox = lmdbOutbox<Payload<Order>>({
    path,
    codec: { toText: JSON.stringify, fromText: JSON.parse, sizeOf: ({ byteLength }) => byteLength },
  })
  const delivery = orders.pipe(
    lift(),
    encode((order: Order) => order, { idOf: ({ id }) => id }),
    deliver(hook, { outbox, ...(stop === undefined ? {} : { stop }) }),
  )
  await lastValueFrom(delivery, { defaultValue: undefined })
  const { waiting } = outbox.stats()
  await outbox.close()
  await hook.close(1_000)()
  return waiting
}

console.log(await run(from([{ id: 'o1' }, { id: 'o2' }]), timer(300)), 'wait') // => 2 wait

isUp = true
console.log(await run(EMPTY), 'wait') // => 0 wait
const ids = receiver.received.slice(-2).map(({ body }) => String(body))
console.log(ids.sort()) // => [ '{"id":"o1"}', '{"id":"o2"}' ]
await receiver.close()
rmSync(path, { recursive: true })

// Many items in one request; a refused batch is divided until the bad item stands alone.
import { batch, deliver, encode, isOutcome, lift, withBisection } from 'headrace'
import type { BatchPayload } from 'headrace'
import { webhook } from 'headrace/sinks/webhook'
import { loopbackReceiver } from 'headrace/testing'
import { from, lastValueFrom, tap } from 'rxjs'

const receiver = await loopbackReceiver(({ body }) => ({
  do: 'status',
  code: body.includes('bad') ? 400 : 200,
}))
const hook = webhook(receiver.url)
const bulk = withBisection()<string>(hook)
const show = ({ items, closedBy }: BatchPayload<unknown>): string => `${items.length} items, ${closedBy}`

const ended$ = from(['a', 'b', 'c', 'bad', 'e']).pipe(
  lift(),
  encode((name) => ({ name })),
  batch({ maxCount: 3, maxDelay: 1_000, frame: { prefix: '{"batch":[', suffix: ']}' } }),
  deliver(bulk),
  tap((ended) => {
    if (!isOutcome(ended)) return
    console.log(ended._tag, show(ended.item))
    if (ended._tag === 'Rejected' && ended.failure._tag === 'PartlyFailed')
      console.log(ended.failure.members.map(({ _tag }) => _tag))
  }),
)
await lastValueFrom(ended$)
// => Delivered 3 items, count
// => Rejected 2 items, end
// => [ 'Left', 'Right' ]
console.log(String(receiver.received[0]?.body)) // => {"batch":[{"name":"a"},{"name":"b"},{"name":"c"}]}
await hook.close({ timeout: 1_000 })
await receiver.close()

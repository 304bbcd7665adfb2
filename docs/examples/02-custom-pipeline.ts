// A pipeline of your own: validate, enrich, encode, sign, deliver.
import { deliver, encode, enrich, isOutcome, showRefusal, sign, validate } from 'headrace'
import { webhook } from 'headrace/sinks/webhook'
import { loopbackReceiver } from 'headrace/testing'
import * as t from 'io-ts'
import { from, lastValueFrom, tap } from 'rxjs'

const Order = t.type({ id: t.string, userId: t.string, total: t.number })
type Order = t.TypeOf<typeof Order>
const countryOf = async (userId: string): Promise<string> => (userId === 'u1' ? 'DE' : 'FR')

const receiver = await loopbackReceiver()
const hook = webhook(receiver.url)

const ended$ = from([{ id: 'o1', userId: 'u1', total: 9.5 }, { id: 'o2' }]).pipe(
  validate(Order),
  enrich(async (order) => ({ ...order, country: await countryOf(order.userId) })),
  encode((order) => order, { idOf: ({ id }) => id }),
  sign('correct horse'),
  deliver(hook),
  tap((ended) => {
    if (isOutcome(ended)) console.log(ended._tag, ended.item.id)
    else console.log(ended._tag, showRefusal(ended))
  }),
)
await lastValueFrom(ended$)
// => Invalid userId: …
// => Delivered o1
console.log(String(receiver.received[0]?.body)) // => {"id":"o1","userId":"u1","total":9.5,"country":"DE"}

await hook.close({ timeout: 1_000 })
await receiver.close()

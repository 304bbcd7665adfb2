// The standby is asked only when the primary fails. firstSuccess asks all, toAll needs all.
import { deliver, failover, lift, retryable, sink } from 'headrace'
import { left } from 'fp-ts/lib/Either.js'
import { concatMap, from, lastValueFrom, of, toArray } from 'rxjs'

let isUp = true
const asked: string[] = []
const primary = sink('primary', async (id: string) => {
  asked.push(`primary ${id}`)
  if (!isUp) return left(retryable('down'))
  return undefined
})
const standby = sink('standby', async (id: string) => {
  asked.push(`standby ${id}`)
})
const store = failover([primary, standby])

const ended = await lastValueFrom(
  from(['o1', 'o2', 'o3']).pipe(
    concatMap((id) => {
      isUp = id !== 'o2'
      return of(id).pipe(lift(), deliver(store))
    }),
    toArray(),
  ),
)
for (const each of ended) if (each._tag === 'Delivered') console.log(each.item, each.receipt.sink)
// => o1 primary
// => o2 standby
// => o3 primary
console.log(asked) // => [ 'primary o1', 'primary o2', 'standby o2', 'primary o3' ]

// A polite sender: at most 100 starts a second, and a pause while the receiver is down.
import { deliver, lift, sink, withCircuitBreaker, withConcurrency, withRateLimit } from 'headrace'
import { exponential } from 'headrace/policy'
import { pipe } from 'fp-ts/lib/function.js'
import { lastValueFrom, range, toArray } from 'rxjs'

const begin = Date.now()
const started: number[] = []
const api = sink('api', async (_: number) => {
  started.push(Date.now())
  if (Date.now() - begin < 500) throw new Error('down')
})

// The innermost layer comes first: items that the breaker holds back do not count towards the rate.
const guarded = pipe(
  api,
  withRateLimit({ perSecond: 100, burst: 4 }),
  withCircuitBreaker({ failures: 3, openTimeout: 200 }),
  withConcurrency({ concurrency: 4 }),
)

const ended = await lastValueFrom(
  range(1, 50).pipe(lift(), deliver(guarded, { retry: exponential({ base: 20, factor: 1 }) }), toArray()),
)
console.log(ended.every(({ _tag }) => _tag === 'Delivered')) // => true

// While the API was down there was a pause of 200 ms before each probe.
const gaps = started.map((at, n) => at - (started[n - 1] ?? at))
console.log(Math.max(...gaps) >= 150, started.length < 65) // => true true

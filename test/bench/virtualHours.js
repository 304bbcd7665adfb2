/** How long four hours of retries take on a virtual clock: 1,000 messages, the default policy, a sink that is down. Uses the built package. */
import { left, right } from 'fp-ts/lib/Either.js'
import { from, lastValueFrom, map } from 'rxjs'
import { deliver, retryable } from '../../dist/index.js'
import { scriptedSink, seededRandom, virtualClock } from '../../dist/testing/index.js'

export const virtualHours = async (messages = 1_000) => {
  const clock = virtualClock()
  const sink = scriptedSink({
    clock,
    reply: () => ({ verdict: left(retryable('status', { status: 503 })), after: 20 }),
  })
  const source$ = from(Array.from({ length: messages }, (_, n) => n)).pipe(map((n) => right(n)))
  const before = process.cpuUsage()
  const ended$ = source$.pipe(deliver(sink, { clock, random: seededRandom(1) }))
  const last = await clock.run(lastValueFrom(ended$))
  const { user, system } = process.cpuUsage(before)
  return {
    last: last._tag,
    attempts: sink.calls.length,
    hours: clock.monotonic() / 3_600_000,
    cpuMs: Math.round((user + system) / 1_000),
  }
}

if (process.argv[1]?.endsWith('virtualHours.js')) console.log(await virtualHours())

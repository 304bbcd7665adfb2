// CPU time of four hours of retries on a virtual clock: 1,000 messages, the default policy, a sink that is down.
import { left, right } from 'fp-ts/lib/Either.js'
import { from, lastValueFrom, map } from 'rxjs'
import { deliver, retryable } from 'headrace'
import { scriptedSink, seededRandom, virtualClock } from 'headrace/testing'

const MESSAGES = 1_000

export const run = async () => {
  const clock = virtualClock()
  const busy = { verdict: left(retryable('status', { status: 503 })), after: 20 }
  const sink = scriptedSink({ clock, reply: () => busy })
  const source$ = from(Array.from({ length: MESSAGES }, (_, n) => n)).pipe(map((n) => right(n)))
  const before = process.cpuUsage()
  await clock.run(lastValueFrom(source$.pipe(deliver(sink, { clock, random: seededRandom(1) }))))
  const { user, system } = process.cpuUsage(before)
  const figure = (user + system) / 1_000
  const what = `4 h of ${MESSAGES} messages, ${sink.calls.length} attempts`
  return [{ what, figure, unit: 'ms of CPU', target: 'at most 1000', met: figure <= 1_000 }]
}

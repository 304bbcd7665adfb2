import { right } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const taken = right({ sink: 'scripted' })

const played = (
  reply: Reply,
): { readonly heard: ReadonlyArray<string>; readonly ended: string | undefined } => {
  const clock = virtualClock()
  const heard: string[] = []
  const sink = scriptedSink<number>({ clock, reply: () => reply })
  sink.deliver(1, onlyAttempt).subscribe({
    next: () => heard.push(`next ${clock.monotonic()}`),
    complete: () => heard.push(`complete ${clock.monotonic()}`),
    error: () => heard.push(`error ${clock.monotonic()}`),
  })
  clock.tick(100)
  return { heard, ended: sink.calls[0]?.ended }
}

test.each<readonly [string, Reply, ReadonlyArray<string>, string | undefined]>([
  ['on the spot', { verdict: taken }, ['next 0', 'complete 0'], 'completed'],
  [
    'after a while, with a rest',
    { verdict: taken, after: 5, rest: 7 },
    ['next 5', 'complete 12'],
    'completed',
  ],
  ['a defect', { defect: 'x', after: 5 }, ['error 5'], 'failed'],
  ['a defect after the verdict', { verdict: taken, defect: 'x', rest: 3 }, ['next 0', 'error 3'], 'failed'],
  ['a hanging one', {}, [], undefined],
])('plays its script: %s', (_name, reply, heard, ended) => expect(played(reply)).toEqual({ heard, ended }))

test('remembers calls, cancels and closes', async () => {
  const clock = virtualClock()
  const sink = scriptedSink<string>({
    name: 'mine',
    clock,
    reply: () => ({ verdict: taken, after: 10, rest: 10 }),
  })
  const subscription = sink.deliver('a', { ...onlyAttempt, number: 4 }).subscribe()
  clock.tick(15)
  expect(sink.running()).toBe(1)
  subscription.unsubscribe()
  await sink.close(9)()
  expect(sink.calls).toEqual([
    {
      item: 'a',
      attempt: { ...onlyAttempt, number: 4 },
      startedAt: 0,
      verdictAt: 10,
      endedAt: 15,
      ended: 'cancelled',
    },
  ])
  expect([sink.name, sink.running(), sink.closed, clock.pending()]).toEqual(['mine', 0, [9], 0])
})

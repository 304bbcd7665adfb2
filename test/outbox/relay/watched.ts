import { left, right } from 'fp-ts/lib/Either.js'
import type { LogEvent } from '../../../src/log/logEvent.ts'
import { retryable } from '../../../src/core/failure.ts'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import { exponential } from '../../../src/policy/retryPolicy.ts'
import type { Outbox, OutboxChange } from '../../../src/outbox/outbox.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

/** An outbox to which things come past its relay. */
export const watched = (): Outbox<string> & {
  readonly onEvent: (news?: OutboxChange) => void
  readonly listeners: () => number
  readonly takes: () => number
} => {
  const outbox = memoryOutbox<string>()
  const listeners = new Set<(news?: OutboxChange) => void>()
  let takes = 0
  return {
    ...outbox,
    take: (...args) => {
      takes++
      return outbox.take(...args)
    },
    watch: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    onEvent: (news) => {
      for (const listener of listeners) listener(news)
    },
    listeners: () => listeners.size,
    takes: () => takes,
  }
}

/** A relay over it: `busy` is refused once, and each attempt takes 10 ms. */
export const world = <T extends Outbox<string>>(outbox: T, maxInFlight = 10) => {
  const clock = virtualClock()
  const log: string[] = []
  const defects: string[] = []
  let news = 0
  const work = relay<string>({
    sink: scriptedSink<string>({
      clock,
      reply: (item, { number }) => ({
        verdict: item === 'busy' && number === 1 ? left(retryable('busy')) : right({ sink: 's' }),
        after: 10,
      }),
    }),
    outbox,
    retry: exponential({ base: 1_000 }),
    clock,
    random: () => 0,
    maxInFlight,
    onEvent: (happening: LogEvent) => {
      if (happening._tag === 'Defect') defects.push(String(happening.error))
    },
    ended: ({ _tag, item }) => log.push(`${_tag} ${item}`),
    news: () => news++,
  })
  return { clock, log, defects, work, outbox, news: () => news }
}

/** What `idle`, `flush`, `ready` and `close` promise, asked in any order and any number of times, in random worlds on a virtual clock. */
import * as fc from 'fast-check'
import type { Observable } from 'rxjs'
import { describe, it } from 'vitest'
import type { Totals } from '../../src/core/outcome.ts'
import { createClient } from '../../src/client/createClient.ts'
import { scriptedSink, virtualClock, type Reply, type VirtualClock } from '../../src/testing/index.ts'
import { busy, gone, openOver, track, yes } from '../destination/virtual.ts'
import { holds, same, forAllAsync } from '../support/check.ts'

type Question = 'rest' | 'ready' | 'close'
const act = fc.constantFrom('send', 'send', 'send', 'rest', 'rest', 'ready', 'ready', 'pause', 'pause', 'now')
const late = { verdict: yes, after: 20 }
const replies: ReadonlyArray<Reply> = [{ verdict: yes }, late, { verdict: busy, after: 5 }, { verdict: gone }]
const world = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 25, size: 'max' }),
  script: fc.array(fc.constantFrom(...replies), { minLength: 1, maxLength: 6, size: 'max' }),
  /** A subscriber of the outcomes sends this many more. */
  reacts: fc.constantFrom(0, 0, 2),
  closes: fc.constantFrom(1, 2),
})

interface Asked {
  readonly send: (id: string) => unknown
  readonly ready: () => Promise<void>
  readonly rest: () => Promise<Totals>
  readonly close: () => Promise<unknown>
  readonly stats: () => Totals
  readonly outcomes$: Observable<unknown>
}

const limits = { random: () => 0.5, logger: false, maxCount: 3 } as const

const makers: Readonly<Record<string, (clock: VirtualClock, reply: () => Reply) => Asked>> = {
  destination: (clock, reply) => {
    const destination = openOver([scriptedSink({ clock, reply })], { clock, ...limits })
    return { ...destination, rest: destination.idle, send: (id) => destination.send(track(id)) }
  },
  client: (clock, reply) => {
    const sink = scriptedSink({ clock, reply })
    const client = createClient('a key', { sink, clock, ...limits, drainOnExit: false })
    return { ...client, rest: client.flush, send: (id) => client.send(track(id)) }
  },
}

describe.each(Object.entries(makers))('%s', (name, make) => {
  it('item 8: answers each question when it is true, and all of them after a close', () =>
    forAllAsync(world, async ({ acts, script, reacts, closes }) => {
      const clock = virtualClock()
      let requests = 0
      let sent = 0
      let isClosing = false
      const asked: Record<Question, number> = { rest: 0, ready: 0, close: 0 }
      const answered: Record<Question, number> = { rest: 0, ready: 0, close: 0 }
      const wrong: string[] = []
      const it = make(clock, () => script[requests++ % script.length] ?? {})
      const send = (): unknown => it.send(`m${String(sent++)}`)
      let left = reacts
      it.outcomes$.subscribe(() => {
        if (left-- > 0) send()
      })
      const ask = (what: Question): void => {
        asked[what]++
        void it[what]().then((answer) => {
          answered[what]++
          if (what !== 'rest' || isClosing || name !== 'destination') return
          if ((answer as Totals).waiting > 0) wrong.push(`idle with ${String((answer as Totals).waiting)}`)
        })
      }
      ask('rest')
      for (const each of acts)
        if (each === 'send') await send()
        else if (each === 'now') void send()
        else if (each === 'pause') await clock.advance(700)
        else ask(each)
      await clock.advance(60_000_000)
      same([it.stats().waiting, answered], [0, asked])
      isClosing = true
      for (const each of ['close', 'rest', 'ready', 'close', 'rest'] as const)
        for (let n = 0; n < closes; n++) ask(each)
      await clock.advance(100_000)
      same([answered, clock.pending()], [asked, 0])
      holds(wrong.length === 0, wrong.join())
    }))
})

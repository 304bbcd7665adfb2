/** An outbox that opens later: nothing is asked of it before, and all who wait go on waiting. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { identity } from 'fp-ts/lib/function.js'
import { Subject, of } from 'rxjs'
import { beforeEach, describe, expect, it } from 'vitest'
import { createClient, storedMessages, type Message } from '../../src/client/index.ts'
import { storedEvents } from '../../src/destination/index.ts'
import type { Event } from '../../src/event/index.ts'
import { deliver, type Payload } from '../../src/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { openOver, track } from '../destination/virtual.ts'
import { machineTime } from '../support/check.ts'

/** Of the machine and of the relay. */
let clock = virtualClock()
beforeEach(() => void (clock = virtualClock()))
machineTime(() => clock)

/** How `opened` is answered: when, and whether it is open then. The last is repeated. */
interface Try {
  readonly after: number
  readonly opens: boolean
}
const opensAfter = (after: number): Try => ({ after, opens: true })
const tryAt = (tries: ReadonlyArray<Try>, n: number): Try => tries[n] ?? tries.at(-1) ?? opensAfter(0)
const END = 150_000

const planOf = (tries: ReadonlyArray<Try>): readonly [openAt: number, failures: number] => {
  let [start, openAt] = [0, Infinity]
  for (let n = 0; ; n++) {
    const { after, opens } = tryAt(tries, n)
    if (opens) openAt = Math.min(openAt, start + after)
    const end = start + Math.min(after, 30_000)
    if (openAt <= end || end > END) return [openAt, n]
    start = end + 1_000
  }
}

const GUARDED = ['enqueue', 'nack', 'ack', 'addDeadLetter', 'nextDue'] as const
/** A store that holds items of earlier. `early` has the calls that came before it was open. */
const laterOutbox = <A>(tries: ReadonlyArray<Try>, earlier: ReadonlyArray<A>, isShared: boolean) => {
  const memory = memoryOutbox<A>()
  void memory.enqueue(earlier)
  const early: string[] = []
  let isOpen = false
  let asked = 0
  const guard = (name: (typeof GUARDED)[number]) => {
    const call = memory[name] as (...given: ReadonlyArray<unknown>) => unknown
    return [name, (...given: ReadonlyArray<unknown>) => (isOpen || early.push(name), call(...given))]
  }
  const outbox: Outbox<A> = {
    ...memory,
    ...(Object.fromEntries(GUARDED.map(guard)) as Partial<Outbox<A>>),
    lease: (...given) =>
      new Promise((resolve) => {
        if (!isOpen) early.push('lease')
        clock.schedule(1, () => resolve(memory.lease(...given)))
      }),
    keeps: () => true,
    takeRemaining: () => [],
    stats: () => (isOpen ? memory.stats() : { ...memory.stats(), waiting: 0 }),
    ...(isShared && { watch: () => () => early.push('unwatched') }),
    opened: () =>
      new Promise((resolve, reject) => {
        const { after, opens } = tryAt(tries, asked++)
        const open = (): void => {
          isOpen = true
          resolve()
        }
        if (after < Infinity) clock.schedule(after, opens ? open : () => reject(new Error('no server')))
      }),
  }
  return { outbox, early }
}

const payloadOf = (id: string): Payload<Event> =>
  storedEvents.fromText(`${JSON.stringify({ id })}\n${JSON.stringify(track(id))}`)
const message = (messageId: string): Message =>
  storedMessages.fromText(JSON.stringify({ type: 'track', messageId, userId: 'u', event: 'e' }))
const sinkOf = () => scriptedSink<unknown>({ clock, reply: () => ({ verdict: right({ sink: 's' }) }) })
const someTry = fc.record({ after: fc.constantFrom(0, 9, 5_000, 31_000, Infinity), opens: fc.boolean() })
const world = fc.record({
  first: fc.array(someTry, { maxLength: 3 }),
  // Repeated, so it must take time.
  last: fc.constantFrom(...[5_000, 31_000, Infinity].map(opensAfter)),
  earlier: fc.constantFrom([], ['a'], ['a', 'b', 'c']),
  isShared: fc.boolean(),
  sends: fc.array(fc.constantFrom(0, 3_000, 20_000, 60_500), { maxLength: 3 }),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never
type Change = (outbox: Outbox<Payload<Event>>) => Outbox<Payload<Event>>

/** Plays a destination until `END` and its close, and checks all that it does. */
const play = async ({ first, last, earlier, isShared, sends }: World, change: Change = identity) => {
  clock = virtualClock()
  const tries = [...first, last]
  const [openAt, failures] = planOf(tries)
  const isOpen = openAt < END
  const { outbox, early } = laterOutbox(tries, earlier.map(payloadOf), isShared)
  let defects = 0
  const onEvent = ({ _tag }: LogEvent): number => (defects += Number(_tag === 'Defect'))
  // In an outbox without order, it is the one inside `ordered`.
  const orderBy = ({ messageId }: Event): string => messageId
  const options = { clock, outbox: change(outbox), orderBy, logger: false, onEvent } as const
  const destination = openOver([sinkOf()], options)
  const ended: string[] = []
  destination.outcomes$.subscribe(({ item: { id } }) => ended.push(id))
  const answers: unknown[] = []
  for (const [n, at] of sends.entries())
    clock.schedule(at, () => {
      const answered = ({ _tag }: { readonly _tag: string }) => (answers[n] = [_tag, clock.monotonic()])
      void destination.send(track(`sent ${String(n)}`)).then(answered)
    })
  let idleAt = Infinity
  let isDone = !isOpen
  void destination.idle().then(({ delivered }) => {
    idleAt = clock.monotonic()
    isDone = delivered >= earlier.length || !isOpen
  })
  const opening: unknown[] = []
  const look = (): void => void opening.push(destination.stats().opening)
  for (const at of isOpen ? [openAt - 1, openAt + 1] : [END]) clock.schedule(at, look)
  await clock.advance(END)

  const isInTime = (at: number): boolean => openAt <= at + 30_000
  const answer = (at: number) => (isInTime(at) ? ['Right', Math.max(at, openAt)] : ['Left', at + 30_000])
  expect([early, answers]).toEqual([[], sends.map(answer)])
  const stored = sends.flatMap((at, n) => (isInTime(at) ? [`sent ${String(n)}`] : []))
  expect(ended.toSorted()).toEqual(isOpen ? [...earlier, ...stored].toSorted() : [])
  expect(defects).toBe(failures + sends.length - stored.length)
  expect(opening).toEqual(isOpen ? [true, undefined] : [true])
  const rest = [destination.stats().waiting, idleAt < Infinity, idleAt >= openAt && isDone]
  expect(rest).toEqual([0, isOpen, true])
  defects = 0
  await clock.run(destination.close({ timeout: 200 }))
  await clock.advance(0)
  expect([defects, clock.pending(), idleAt < Infinity]).toEqual([isOpen ? 0 : 1, 0, true])
  expect(clock.monotonic() - END).toBeLessThanOrEqual(1_200)
}
const law = (change?: Change) => fc.asyncProperty(world, (given) => play(given, change))

describe('an outbox that opens later', () => {
  it('is asked for nothing before; nothing is lost, and nothing is told too early', () => fc.assert(law()))

  const asksOnce: Change = (outbox) => {
    const once = outbox.opened?.()
    return { ...outbox, opened: () => once }
  }
  it.each<[string, Change]>([
    ['is taken for open', ({ opened: _, ...outbox }) => outbox],
    ['is open too early', (outbox) => ({ ...outbox, opened: () => undefined })],
    ['is asked once', asksOnce],
  ])('breaks this law if it %s', async (_, change) => {
    expect((await fc.check(law(change), { numRuns: 200, endOnFailure: true })).failed).toBe(true)
  })

  it('holds up redrive and dead letters of a destination', async () => {
    const { outbox, early } = laterOutbox<Payload<Event>>([opensAfter(5_000)], [], false)
    const destination = openOver([sinkOf()], { clock, outbox, logger: false })
    const { dead, redrive, addDeadLetter } = destination
    const added = async () => addDeadLetter?.(payloadOf('a'))
    const asked: Array<Promise<unknown>> = [dead.list(), dead.purge(() => true), redrive(), added()]
    let answers = 0
    for (const each of asked) void each.then(() => answers++)
    await clock.advance(4_999)
    expect(answers).toBe(0)
    await clock.advance(1)
    expect(await Promise.all(asked)).toMatchObject([[], 0, 0, { _tag: 'Right' }])
    expect([early, destination.stats().rejected]).toEqual([[], 1])
    await clock.run(destination.close())
  })

  it.each([true, false])('holds up the messages and the flush of a client (shared: %s)', async (isShared) => {
    for (const after of [5_000, 31_000, Infinity]) {
      clock = virtualClock()
      const { outbox, early } = laterOutbox<Message>([opensAfter(after)], [message('earlier')], isShared)
      const client = createClient('key', { clock, outbox, sink: sinkOf(), logger: false, drainOnExit: false })
      const ended: string[] = []
      client.outcomes$.subscribe(({ _tag, item }) => ended.push(`${_tag} ${item.id}`))
      let flushedAt = Infinity
      void client.flush().then(() => (flushedAt = clock.monotonic()))
      client.track({ userId: 'u', event: 'e', messageId: 'now' })
      await clock.advance(after === Infinity ? 100_000 : after + 2)
      const isOpen = after < Infinity
      expect([early, ended]).toEqual([[], isOpen ? ['Delivered earlier', 'Delivered now'] : []])
      expect([flushedAt, client.stats().opening]).toEqual(isOpen ? [after + 1, undefined] : [after, true])
      await clock.run(client.close({ timeout: 200 }))
      if (!isOpen) expect([ended, flushedAt < Infinity]).toEqual([['Abandoned now'], true])
      expect(early).toEqual(isShared ? ['unwatched'] : [])
    }
  })

  it('holds up the end of deliver, and not its stop', async () => {
    for (const isStopped of [false, true]) {
      const { outbox, early } = laterOutbox([opensAfter(5_000)], ['earlier'], false)
      const stop = new Subject<void>()
      const seen: string[] = []
      const work$ = of(right('now')).pipe(deliver(sinkOf(), { clock, outbox, stop }))
      work$.subscribe({ next: ({ _tag }) => seen.push(_tag), complete: () => seen.push('|') })
      await clock.advance(4_999)
      expect(seen).toEqual([])
      if (isStopped) stop.next()
      await clock.advance(isStopped ? 0 : 3)
      expect([early, seen]).toEqual([[], isStopped ? ['NotStored', '|'] : ['Delivered', 'Delivered', '|']])
    }
  })
})

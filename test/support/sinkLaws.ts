/**
 * The contract of `Sink`, for any sink. Give `sinkLaws` a way to open a sink in a generated world; it subscribes both as layers do and as a
 * host does.
 */
import * as fc from 'fast-check'
import { take } from 'rxjs'
import type { Verdict } from '../../src/core/failure.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'
import { holds, type Law } from './check.ts'

/** A sink under test, and what can be seen of it from below. */
export interface Subject {
  readonly sink: Sink<number>
  /** How many deliveries have begun to do something. */
  readonly started: () => number
  /** How many of those are not over. */
  readonly running: () => number
  /** Lets some time pass. */
  readonly pass: (ms: number) => Promise<void>
  /** Lets everything come to its end. */
  readonly settle: () => Promise<void>
}

type Told = { readonly kind: 'next'; readonly verdict: Verdict } | { readonly kind: 'complete' | 'error' }

interface Listening {
  readonly told: ReadonlyArray<Told>
  /** What came after the cancel. */
  readonly late: ReadonlyArray<Told>
  readonly cancel: () => void
}

type Border = 'layer' | 'host'

const listen = (
  sink: Sink<number>,
  item: number,
  border: Border,
  on: (told: Told) => void = () => {},
): Listening => {
  const told: Told[] = []
  const late: Told[] = []
  let cancelled = false
  const hear = (each: Told): void => {
    ;(cancelled ? late : told).push(each)
    on(each)
  }
  const observer = {
    next: (verdict: Verdict) => hear({ kind: 'next', verdict }),
    complete: () => hear({ kind: 'complete' }),
    error: () => hear({ kind: 'error' }),
  }
  const subscribe = (): (() => void) => {
    const subscription = sink.deliver(item, onlyAttempt).subscribe(observer)
    return () => subscription.unsubscribe()
  }
  const stop = border === 'layer' ? subscribeTo(sink)(item, onlyAttempt, observer) : subscribe()
  return {
    told,
    late,
    cancel: () => {
      cancelled = true
      stop()
    },
  }
}

const kinds = (listening: Listening): string => listening.told.map((each) => each.kind).join(' ')

const isVerdict = (told: Told | undefined): boolean =>
  told?.kind === 'next' &&
  (told.verdict._tag === 'Right'
    ? typeof told.verdict.right.sink === 'string'
    : typeof told.verdict.left._tag === 'string')

const WHOLE = new Set(['next complete', 'next error', 'error'])
const PARTS = new Set(['', 'next', ...WHOLE])

interface Step {
  readonly gap: number
  readonly item: number
  readonly border: Border
  readonly cancelAfter: number | null
}

const step = (cancels: boolean): fc.Arbitrary<Step> =>
  fc.record({
    gap: fc.nat(20),
    item: fc.nat(5),
    border: fc.constantFrom<Border>('layer', 'host'),
    cancelAfter: cancels ? fc.option(fc.nat(60)) : fc.constant(null),
  })

const plan = (cancels: boolean): fc.Arbitrary<ReadonlyArray<Step>> =>
  fc.array(step(cancels), { minLength: 1, maxLength: 8, size: 'max' })

const play = async (subject: Subject, steps: ReadonlyArray<Step>): Promise<ReadonlyArray<Listening>> => {
  const heard: Listening[] = []
  let time = 0
  const todo = steps.flatMap((each) => {
    time += each.gap
    let listening: Listening | undefined
    const start = (): void => {
      listening = listen(subject.sink, each.item, each.border)
      heard.push(listening)
    }
    const cancel = (): void => listening?.cancel()
    const begin = { at: time, act: start }
    return each.cancelAfter === null ? [begin] : [begin, { at: time + each.cancelAfter, act: cancel }]
  })
  let now = 0
  // The sort is stable, so a cancel never comes before its start.
  for (const { at, act } of todo.sort((a, b) => a.at - b.at)) {
    if (at > now) await subject.pass(at - now)
    now = at
    act()
  }
  await subject.settle()
  return heard
}

/** The worlds that a sink is tried in. In each of them every delivery must come to an end by itself. */
export interface SinkWorlds<W> {
  readonly worlds: fc.Arbitrary<W>
  readonly open: (world: W) => Subject
}

export const sinkLaws = <W>({ worlds, open }: SinkWorlds<W>): ReadonlyArray<Law> => {
  const law = <T>(
    id: string,
    inputs: fc.Arbitrary<T>,
    holds: (subject: Subject, input: T) => Promise<void>,
  ): Law => ({
    id,
    property: fc.asyncProperty(fc.tuple(worlds, inputs), async ([world, input]) => {
      await holds(open(world), input)
    }),
  })

  return [
    law('S1 nothing happens before it is subscribed', fc.nat(5), async (subject, item) => {
      subject.sink.deliver(item, onlyAttempt)
      await subject.settle()
      holds(subject.started() === 0, `${subject.started()} deliveries began`)
    }),

    law('S2 each subscription is a delivery of its own', fc.nat(5), async (subject, item) => {
      const delivery = subject.sink.deliver(item, onlyAttempt)
      let told = 0
      const observer = { next: () => told++, error: () => told++ }
      delivery.subscribe(observer)
      await subject.settle()
      const once = subject.started()
      delivery.subscribe(observer)
      await subject.settle()
      holds(once === 0 || subject.started() > once, 'the second subscription began nothing')
      holds(told >= 2, `${told} notifications for two subscriptions`)
    }),

    law(
      'S3 exactly one verdict, then complete, unless a defect; never a throw',
      plan(false),
      async (subject, steps) => {
        const heard = await play(subject, steps)
        for (const each of heard) {
          holds(WHOLE.has(kinds(each)), `told: ${kinds(each)}`)
          const [first] = each.told
          holds(first?.kind === 'error' || isVerdict(first), `no verdict: ${JSON.stringify(first)}`)
        }
      },
    ),

    law('S4 it ends only when nothing is left running', plan(false), async (subject, steps) => {
      await play(subject, steps)
      holds(subject.running() === 0, `${subject.running()} left running`)
      const before = subject.running()
      let atEnd: number | undefined
      listen(subject.sink, 0, 'layer', (told) => {
        if (told.kind !== 'next') atEnd = subject.running()
      })
      await subject.settle()
      holds(atEnd === before, `${atEnd ?? 'not told, but some'} running at the end`)
    }),

    law(
      'S5 nothing is told after a cancel, and nothing is left running',
      plan(true),
      async (subject, steps) => {
        const heard = await play(subject, steps)
        for (const each of heard) {
          holds(each.late.length === 0, `told after the cancel: ${JSON.stringify(each.late)}`)
          holds(PARTS.has(kinds(each)), `told: ${kinds(each)}`)
        }
        holds(subject.running() === 0, `${subject.running()} left running`)
      },
    ),

    law(
      'S6 a cancel stops what runs at once',
      fc.tuple(fc.nat(60), plan(false)),
      async (subject, [ms, steps]) => {
        const heard = steps.map((each) => listen(subject.sink, each.item, each.border))
        await subject.pass(ms)
        for (const each of heard) each.cancel()
        for (const each of heard) each.cancel()
        holds(subject.running() === 0, `${subject.running()} running after every cancel`)
        const begun = subject.started()
        await subject.settle()
        holds(subject.started() === begun, 'something began after every cancel')
        holds(
          heard.every((each) => each.late.length === 0),
          'told after the cancel',
        )
      },
    ),

    law('S7 take(1) cancels what runs after the verdict', fc.nat(5), async (subject, item) => {
      let verdicts = 0
      let ended = 0
      subject.sink
        .deliver(item, onlyAttempt)
        .pipe(take(1))
        .subscribe({ next: () => verdicts++, complete: () => ended++, error: () => ended++ })
      await subject.settle()
      holds(ended === 1 && verdicts <= 1, `${verdicts} verdicts, ${ended} ends`)
      holds(subject.running() === 0, `${subject.running()} left running`)
    }),

    law(
      'S8 an observer may start another delivery at any moment',
      fc.tuple(fc.constantFrom<Border>('layer', 'host'), fc.constantFrom('next', 'complete', 'error')),
      async (subject, [border, moment]) => {
        const heard: Listening[] = []
        const again = (depth: number): void => {
          heard.push(
            listen(subject.sink, depth, border, (told) => {
              if (told.kind === moment && depth > 0) again(depth - 1)
            }),
          )
        }
        again(3)
        await subject.settle()
        for (const each of heard) holds(WHOLE.has(kinds(each)), `told: ${kinds(each)}`)
        holds(subject.running() === 0, `${subject.running()} left running`)
      },
    ),

    law('S9 close may be called again, and at the same time', plan(false), async (subject, steps) => {
      await play(subject, steps)
      const first = subject.sink.close(100)
      const both = Promise.allSettled([first(), subject.sink.close(50)()])
      await subject.settle()
      const last = Promise.allSettled([first()])
      await subject.settle()
      const results = [...(await both), ...(await last)]
      holds(
        results.every((result) => result.status === 'fulfilled'),
        'a close failed',
      )
    }),
  ]
}

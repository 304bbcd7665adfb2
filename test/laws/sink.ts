/**
 * What the contract of `Sink` promises, for any sink at all. Give `sinkLaws` a way to open a sink in a world of your own making; it
 * listens both as our layers do (a run, without RxJS's guards) and as a host does (a subscription).
 */
import * as fc from 'fast-check'
import { take } from 'rxjs'
import { onlyAttempt } from '../../src/sink/sink.ts'
import {
  type Border,
  isVerdict,
  kinds,
  listen,
  type Listening,
  PARTS,
  plan,
  play,
  type Subject,
  WHOLE,
} from './listening.ts'

export type { Subject } from './listening.ts'

/** The worlds that a sink is tried in. In each of them every delivery must come to an end by itself. */
export interface SinkWorlds<W> {
  readonly worlds: fc.Arbitrary<W>
  readonly open: (world: W) => Subject
}

export interface SinkLaw {
  readonly id: string
  readonly property: fc.IAsyncPropertyWithHooks<[unknown]>
}

/** What the generated cases reached, counted over all laws of one `sinkLaws`. */
export interface Reached {
  deliveries: number
  verdicts: number
  defects: number
  cancelledEarly: number
  cancelledBetween: number
  cancelledLate: number
}

export const nothingReached = (): Reached => ({
  deliveries: 0,
  verdicts: 0,
  defects: 0,
  cancelledEarly: 0,
  cancelledBetween: 0,
  cancelledLate: 0,
})

const count = (heard: ReadonlyArray<Listening>, reached: Reached, cancels: boolean): void => {
  for (const each of heard) {
    const said = kinds(each)
    reached.deliveries++
    if (said.startsWith('next')) reached.verdicts++
    if (said.endsWith('error')) reached.defects++
    if (!cancels) continue
    if (said === '') reached.cancelledEarly++
    else if (said === 'next') reached.cancelledBetween++
    else reached.cancelledLate++
  }
}

const expectThat = (fact: boolean, otherwise: () => string): void => {
  if (!fact) throw new Error(otherwise())
}

export const sinkLaws = <W>(
  { worlds, open }: SinkWorlds<W>,
  reached: Reached = nothingReached(),
): ReadonlyArray<SinkLaw> => {
  const law = <T>(
    id: string,
    inputs: fc.Arbitrary<T>,
    holds: (subject: Subject, input: T) => Promise<void>,
  ): SinkLaw => ({
    id,
    property: fc.asyncProperty(fc.tuple(worlds, inputs), async ([world, input]) => {
      await holds(open(world), input)
    }),
  })

  return [
    law('nothing happens before it is subscribed', fc.nat(5), async (subject, item) => {
      subject.sink.deliver(item, onlyAttempt)
      await subject.settle()
      expectThat(subject.started() === 0, () => `${subject.started()} deliveries began`)
    }),

    law('each subscription is a delivery of its own', fc.nat(5), async (subject, item) => {
      const delivery = subject.sink.deliver(item, onlyAttempt)
      let told = 0
      const observer = { next: () => told++, error: () => told++ }
      delivery.subscribe(observer)
      await subject.settle()
      const once = subject.started()
      delivery.subscribe(observer)
      await subject.settle()
      expectThat(once === 0 || subject.started() > once, () => 'the second subscription began nothing')
      expectThat(told >= 2, () => `${told} notifications for two subscriptions`)
    }),

    law(
      'exactly one verdict, then complete, unless a defect; never a throw',
      plan(false),
      async (subject, steps) => {
        const heard = await play(subject, steps)
        count(heard, reached, false)
        for (const each of heard) {
          expectThat(WHOLE.has(kinds(each)), () => `told: ${kinds(each)}`)
          const [first] = each.told
          expectThat(
            first?.kind === 'error' || isVerdict(first),
            () => `no verdict: ${JSON.stringify(first)}`,
          )
        }
      },
    ),

    law('it ends only when nothing is left running', plan(false), async (subject, steps) => {
      await play(subject, steps)
      expectThat(subject.running() === 0, () => `${subject.running()} left running`)
      const before = subject.running()
      let atEnd: number | undefined
      listen(subject.sink, 0, 'run', (told) => {
        if (told.kind !== 'next') atEnd = subject.running()
      })
      await subject.settle()
      expectThat(atEnd === before, () => `${atEnd ?? 'not told, but some'} running at the end`)
    }),

    law('nothing is told after a cancel, and nothing is left running', plan(true), async (subject, steps) => {
      const heard = await play(subject, steps)
      count(
        heard.filter((_, at) => steps[at]?.cancelAfter !== null),
        reached,
        true,
      )
      for (const each of heard) {
        expectThat(each.late.length === 0, () => `told after the cancel: ${JSON.stringify(each.late)}`)
        expectThat(PARTS.has(kinds(each)), () => `told: ${kinds(each)}`)
      }
      expectThat(subject.running() === 0, () => `${subject.running()} left running`)
    }),

    law(
      'a cancel stops at once what goes on',
      fc.tuple(fc.nat(60), plan(false)),
      async (subject, [ms, steps]) => {
        const heard = steps.map((each) => listen(subject.sink, each.item, each.border))
        await subject.pass(ms)
        for (const each of heard) each.cancel()
        for (const each of heard) each.cancel()
        expectThat(subject.running() === 0, () => `${subject.running()} running after every cancel`)
        const begun = subject.started()
        await subject.settle()
        expectThat(subject.started() === begun, () => 'something began after every cancel')
        expectThat(
          heard.every((each) => each.late.length === 0),
          () => 'told after the cancel',
        )
      },
    ),

    law('who takes only the verdict cancels the rest', fc.nat(5), async (subject, item) => {
      let verdicts = 0
      let ended = 0
      subject.sink
        .deliver(item, onlyAttempt)
        .pipe(take(1))
        .subscribe({ next: () => verdicts++, complete: () => ended++, error: () => ended++ })
      await subject.settle()
      expectThat(ended === 1 && verdicts <= 1, () => `${verdicts} verdicts, ${ended} ends`)
      expectThat(subject.running() === 0, () => `${subject.running()} left running`)
    }),

    law(
      'a receiver may start another delivery at any moment',
      fc.tuple(fc.constantFrom<Border>('run', 'observable'), fc.constantFrom('next', 'complete', 'error')),
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
        for (const each of heard) expectThat(WHOLE.has(kinds(each)), () => `told: ${kinds(each)}`)
        expectThat(subject.running() === 0, () => `${subject.running()} left running`)
      },
    ),

    law('close may be called again, and at the same time', plan(false), async (subject, steps) => {
      await play(subject, steps)
      const first = subject.sink.close(100)
      const both = Promise.allSettled([first(), subject.sink.close(50)()])
      await subject.settle()
      const last = Promise.allSettled([first()])
      await subject.settle()
      const results = [...(await both), ...(await last)]
      expectThat(
        results.every((result) => result.status === 'fulfilled'),
        () => 'a close failed',
      )
    }),
  ]
}

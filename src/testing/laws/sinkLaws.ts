import * as fc from 'fast-check'
import { isVerdict, type Verdict } from '../../core/failure.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import { statusTable, type StatusTable } from '../../sink/status.ts'
import type { NetworkCall } from '../network.ts'
import { holds } from './assert.ts'
import { law, lawsOver, type Law, type Run } from './law.ts'
import { sinkRequestLaws } from './sinkRequestLaws.ts'
import { itemsOf, openSink, sinkInputs } from './sinkWorld.ts'
import type { Delivery, MakeSink, OpenSink, SinkInput, SinkItem, Told } from './sinkWorld.ts'

/** What a sink under test promises. */
export interface SinkLawOptions<A> {
  /** Items to deliver, as plain data if you can. Default: objects such as `{ id: 'i3', value: 3 }`. */
  readonly item?: fc.Arbitrary<A>
  /** False for a sink that sends nothing over the network, such as one in memory: laws about requests are left out. Default true. */
  readonly answers?: boolean
  /** The most milliseconds that a delivery may take, however the network answers. Default 60,000. */
  readonly timeout?: number
  /** True for a sink that reads `Retry-After`: it must tell it as `notBefore`. Default false. */
  readonly retryAfter?: boolean
  /** What statuses mean to this sink. Default: `statusTable` of `headrace/sinks/webhook`. */
  readonly statuses?: StatusTable
}

/** Delivers at the times of the steps, so that deliveries overlap. */
const playTogether = async <A>(
  open: OpenSink<A>,
  { steps }: SinkInput<A>,
  until: number,
): Promise<ReadonlyArray<Delivery>> => {
  const { clock } = open
  const deliveries: Delivery[] = []
  let at = 0
  for (const { gap, item, cancelAfter } of steps) {
    at += gap
    clock.schedule(at, () => {
      const delivery = open.deliver(item)
      deliveries.push(delivery)
      if (cancelAfter !== null) clock.schedule(cancelAfter, delivery.cancel)
    })
  }
  await clock.advance(until)
  return deliveries
}

const order = (told: ReadonlyArray<Told>): string => told.map(({ what }) => what).join(', ')

/** Whether a delivery is told as the contract says, as far as it came. */
const holdsOneVerdict = ({ told, late, isCancelled }: Delivery): void => {
  for (const { what, value } of told) {
    holds(what !== 'throw', `deliver threw: ${String(value)}`)
    holds(what !== 'error', `it ended with an error in place of a verdict: ${String(value)}`)
    holds(what !== 'verdict' || isVerdict(value), `it emitted what is no verdict: ${JSON.stringify(value)}`)
  }
  const legal = ['', 'verdict', 'verdict, complete']
  holds(legal.includes(order(told)), `it told: ${order(told)}`)
  holds(!isCancelled() || late.length === 0, `it told after its cancel: ${order(late)}`)
}

const holdsEnded = (delivery: Delivery, timeout: number, calls: ReadonlyArray<NetworkCall>): void => {
  if (delivery.isCancelled() || delivery.isOver()) return
  const open = calls.filter(({ ended }) => ended === undefined).map(({ fault }) => JSON.stringify(fault))
  const told = delivery.told.length === 0 ? 'no verdict' : 'a verdict and no end'
  const hint =
    open.length === 0 ? '' : `; a request met ${open[0] ?? ''}: has it a timeout on the clock of its world?`
  throw new Error(`a delivery had ${told} after ${String(timeout)} ms${hint}`)
}

/** Laws about what deliveries tell, each with a world of its own. */
const deliveryLaws = <A>(
  make: MakeSink<A>,
  item: fc.Arbitrary<A>,
  timeout: number,
  answers: boolean,
): ReadonlyArray<Law> => {
  const input = sinkInputs(item, answers, false)
  const withCancels = sinkInputs(item, answers, true)

  const play = async (given: SinkInput<A>, run: Run) => {
    const open = openSink(make, given, run)
    const lasting = given.steps.reduce((sum, { gap }) => sum + gap, timeout)
    return { deliveries: await playTogether(open, given, lasting), calls: open.network.calls }
  }

  return [
    ...lawsOver('sink', withCancels, play, {
      settles: {
        statement: 'Every delivery that is not cancelled ends in time, however the network answers.',
        check: ({ deliveries, calls }) => {
          for (const each of deliveries) holdsEnded(each, timeout, calls)
        },
      },
      'one-verdict': {
        statement:
          'A delivery emits one verdict, then completes; it never throws, and tells nothing after its cancel.',
        check: ({ deliveries }) => deliveries.forEach(holdsOneVerdict),
      },
      'item-unchanged': {
        statement: 'A sink does not change its items.',
        check: ({ deliveries }) => {
          for (const { before, now } of deliveries.map((each) => each.item()))
            holds(before === now, `the item ${before} became ${now}`)
        },
      },
    }),

    law({
      id: 'sink/each-subscription',
      statement: 'Each subscription is a delivery of its own.',
      input,
      check: async (given, run) => {
        const open = openSink(make, given, run)
        const [first] = given.steps
        if (first === undefined) return
        const delivery = open.sink.deliver(first.item, onlyAttempt)
        const verdicts: Verdict[] = []
        for (const round of [1, 2]) {
          const before = open.network.calls.length
          delivery.subscribe({ next: (verdict) => verdicts.push(verdict), error: () => undefined })
          await open.clock.advance(timeout)
          const verdict = verdicts[round - 1]
          holds(verdict !== undefined, `subscription ${String(round)} had no verdict`)
          const isNew = verdict?._tag === 'Right' && verdict.right.duplicate !== true
          const hasSent = open.network.calls.length > before
          holds(
            !answers || !isNew || hasSent,
            `subscription ${String(round)} was delivered without a request`,
          )
        }
      },
    }),

    law({
      id: 'sink/re-entrant',
      statement: 'An observer may start another delivery while it is told a verdict or the end.',
      input: fc.tuple(fc.constantFrom<Told['what']>('verdict', 'complete'), input),
      check: async ([moment, given], run) => {
        const open = openSink(make, given, run)
        const deliveries: Delivery[] = []
        const next = (at: number): void => {
          const step = given.steps[at]
          if (step === undefined) return
          const delivery = open.deliver(step.item, ({ what }) => {
            if (what === moment) next(at + 1)
          })
          deliveries.push(delivery)
        }
        next(0)
        await open.clock.advance(timeout * given.steps.length)
        for (const each of deliveries) {
          holdsEnded(each, timeout, open.network.calls)
          holdsOneVerdict(each)
        }
      },
    }),

    law({
      id: 'sink/close',
      statement: 'close resolves in its time, and may be called again and at the same time.',
      input: fc.tuple(fc.nat({ max: 5_000 }), input),
      check: async ([within, given], run) => {
        const open = openSink(make, given, run)
        await playTogether(open, given, timeout)
        const ended: Array<'resolved' | 'rejected'> = []
        const close = (): void => {
          const task = open.sink.close(within)
          holds(
            typeof task === 'function',
            'close(within) must answer a Task: a function that gives a Promise',
          )
          void Promise.resolve(task()).then(
            () => ended.push('resolved'),
            () => ended.push('rejected'),
          )
        }
        close()
        close()
        await open.clock.advance(within)
        holds(ended.length === 2, `close was not done after ${String(within)} ms`)
        close()
        await open.clock.advance(within)
        holds(ended.length === 3, `a close after the first was not done after ${String(within)} ms`)
        holds(!ended.includes('rejected'), 'a close rejected')
      },
    }),
  ]
}

/** With a default for the items, or with items of your own. @inline */
interface SinkLaws {
  (make: MakeSink<SinkItem>, options?: SinkLawOptions<SinkItem>): ReadonlyArray<Law>
  <A>(make: MakeSink<A>, options: SinkLawOptions<A> & { readonly item: fc.Arbitrary<A> }): ReadonlyArray<Law>
}

/**
 * The laws of a sink of your own: what each delivery tells, and what its verdict says of the network. The sink is made anew for each input,
 * in a world with a virtual clock and a scripted network that it must use; so give it a timeout on that clock.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { left, right } from 'fp-ts/lib/Either.js'
 * import { refused, sink } from 'headrace'
 * import { registerLaws, sinkLaws } from 'headrace/testing/laws'
 *
 * registerLaws({ test }, sinkLaws(({ network, clock }) =>
 *   sink('mine', async (item, { signal }) => {
 *     const { status } = await network.request({ body: JSON.stringify(item), signal })
 *     if (status >= 500 || status === 429) throw new Error(`status ${status}`)
 *     return status < 300 ? right({ sink: 'mine' }) : left(refused('status', { status }))
 *   }, { clock }),
 * ))
 * ```
 */
export const sinkLaws: SinkLaws = <A>(make: MakeSink<A>, options: SinkLawOptions<A> = {}) => {
  const { answers = true, timeout = 60_000, statuses = statusTable } = options
  const item = itemsOf(options)
  const laws = deliveryLaws(make, item, timeout, answers)
  if (!answers) return laws
  return [...laws, ...sinkRequestLaws(make, item, timeout, statuses)].filter(
    ({ id }) => options.retryAfter === true || id !== 'sink/retry-after',
  )
}

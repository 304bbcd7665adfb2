import * as fc from 'fast-check'
import { isVerdict, type Verdict } from '../../core/failure.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import type { NetworkCall } from '../network.ts'
import { holds } from './assert.ts'
import { law, lawsOver, type Law, type Run } from './law.ts'
import { sinkRequestLaws } from './sinkRequestLaws.ts'
import { endOf, itemsOf, openSink, sinkInputs } from './sinkWorld.ts'
import type { Delivery, MakeSink, SinkInput, SinkItem, Told } from './sinkWorld.ts'

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
}

/** Delivers at the times of the steps, so that deliveries overlap, and from within what others tell. */
const playTogether = async <A>(make: MakeSink<A>, given: SinkInput<A>, timeout: number, run: Run) => {
  const { clock, network, sink, deliver } = openSink(make, given, run)
  const deliveries: Delivery[] = []
  const start = (at: number): void => {
    const step = given.steps[at]
    if (step === undefined) return
    const next = given.steps[at + 1]?.starts
    const delivery = deliver(step.item, ({ what }) => {
      if (what === next) start(at + 1)
    })
    deliveries.push(delivery)
    if (typeof next === 'number') clock.schedule(next, () => start(at + 1))
    if (step.cancelAfter !== null) clock.schedule(step.cancelAfter, delivery.cancel)
  }
  start(0)
  await clock.advance(given.steps.length * (timeout + 100))
  return { clock, sink, deliveries, calls: network.calls }
}

const order = (told: ReadonlyArray<Told>): string => told.map(({ what }) => what).join(', ')

/** Whether a delivery is told as the contract says, as far as it came. */
const holdsOneVerdict = ({ told, late }: Delivery): void => {
  for (const { what, value } of told) {
    holds(what !== 'throw', `deliver threw: ${String(value)}`)
    holds(what !== 'error', `it ended with an error in place of a verdict: ${String(value)}`)
    holds(what !== 'verdict' || isVerdict(value), `it emitted what is no verdict: ${JSON.stringify(value)}`)
  }
  holds(['', 'verdict', 'verdict, complete'].includes(order(told)), `it told: ${order(told)}`)
  holds(late.length === 0, `it told after its cancel: ${order(late)}`)
}

const holdsSettled = (delivery: Delivery, timeout: number, calls: ReadonlyArray<NetworkCall>): void => {
  const end = endOf(delivery)?.at ?? Infinity
  if (delivery.isCancelled() || end - delivery.startedAt <= timeout) return
  const open = calls.filter(({ ended }) => ended === undefined).map(({ fault }) => JSON.stringify(fault))
  const told = delivery.told.length === 0 ? 'no verdict' : 'a verdict and no end'
  const hint =
    open.length === 0 ? '' : `; a request met ${open[0] ?? ''}: has it a timeout on the clock of its world?`
  throw new Error(`a delivery had ${told} after ${String(timeout)} ms${hint}`)
}

/** Laws about what deliveries tell. */
const deliveryLaws = <A>(
  make: MakeSink<A>,
  item: fc.Arbitrary<A>,
  timeout: number,
  answers: boolean,
): ReadonlyArray<Law> => {
  const input = sinkInputs(item, answers)
  const play = (given: SinkInput<A>, run: Run) => playTogether(make, given, timeout, run)

  return [
    ...lawsOver('sink', input, play, {
      settles: {
        statement:
          'Every delivery that is not cancelled ends in time, however the network answers, also one that starts from within a verdict or an end.',
        check: ({ deliveries, calls }) => {
          for (const each of deliveries) holdsSettled(each, timeout, calls)
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
      statement: 'Each subscription is a delivery of its own, and nothing is sent before it.',
      input,
      situations: answers ? ['a request was sent'] : [],
      check: async (given, run) => {
        const { clock, network, sink } = openSink(make, given, run)
        const [delivery] = given.steps.map((step) => sink.deliver(step.item, onlyAttempt))
        await clock.advance(timeout)
        holds(network.calls.length === 0, 'a request was sent before a delivery was subscribed')
        for (const number of ['1', '2']) {
          const sent = network.calls.length
          const verdicts: Verdict[] = []
          delivery?.subscribe({ next: (verdict) => verdicts.push(verdict), error: () => undefined })
          await clock.advance(timeout)
          const [verdict] = verdicts
          holds(verdict !== undefined, `subscription ${number} had no verdict`)
          const isNew = verdict?._tag === 'Right' && verdict.right.duplicate !== true
          const hasSent = network.calls.length > sent
          if (hasSent) run.reach('a request was sent')
          holds(!answers || !isNew || hasSent, `subscription ${number} was delivered without a request`)
        }
      },
    }),

    law({
      id: 'sink/close',
      statement: 'close resolves in its time, and may be called again and at the same time.',
      input: fc.tuple(fc.nat({ max: 5_000 }), input),
      check: async ([within, given], run) => {
        const { clock, sink } = await play(given, run)
        const ended: string[] = []
        const close = (): void => {
          const task = sink.close(within)
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
        await clock.advance(within)
        holds(ended.length === 2, `close was not done after ${String(within)} ms`)
        close()
        await clock.advance(within)
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
  const { answers = true, timeout = 60_000, retryAfter = false } = options
  const item = itemsOf(options)
  const laws = deliveryLaws(make, item, timeout, answers)
  if (!answers) return laws
  const requests = sinkRequestLaws(make, item, timeout)
  return [...laws, ...requests.filter(({ id }) => retryAfter || id !== 'sink/retry-after')]
}

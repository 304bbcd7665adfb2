import type * as fc from 'fast-check'
import { inspect, isDeepStrictEqual } from 'node:util'
import { isPromiseLike } from '../../core/awaitable.ts'
import { isLeft } from '../../core/either.ts'
import { earliestRetry, isRetryable, isVerdict, type Verdict } from '../../core/failure.ts'
import { checkOptions, flag, func, methods, optional, strict, wholeNumber } from '../../core/options.ts'
import { withDefault } from '../../core/options.ts'
import { statusesOption, statusTable, type StatusTable } from '../../sink/status.ts'
import type { NetworkCall, NetworkRequest } from '../network.ts'
import { holds, same, lawsOver, type Law, type Run } from './law.ts'
import { answerTo, carriesId, itemsOf, meaningOfVerdict, plainStep, playSink } from './sinkWorld.ts'
import { sinkInputs, type Delivery, type MakeSink, type Meaning } from './sinkWorld.ts'
import type { Period, SinkInput, SinkItem, SinkTrace } from './sinkWorld.ts'

/** The promises of a sink under test. */
export interface SinkLawOptions<A> {
  /** Items to deliver, as plain data if you can. Default: objects such as `{ id: 'item-3', value: 3 }`. */
  readonly item?: fc.Arbitrary<A>
  /**
   * Says whether a request carries an item. Default, for the default items: the URL, a header or the body has
   * its `id`, also compressed or in base64. With items of your own it must be given, or the law looks at
   * requests only for repetitions. If it is given, verdicts are judged by these requests alone, no token's.
   */
  readonly carries?: (request: NetworkRequest, item: A) => boolean
  /** False for a sink without a network, such as one in memory: no laws about requests. Default true. */
  readonly answers?: boolean
  /** Rules for statuses, as for `webhook`. Default: none. */
  readonly statuses?: StatusTable
  /** The most milliseconds that a delivery may take, however the network answers. Default 60,000. */
  readonly timeout?: number
  /** True for a sink that reads `Retry-After`: it must tell it as `notBefore`. Default false. */
  readonly retryAfter?: boolean
}

const REAL =
  'no request was sent: a promise outside the clock, such as that of zlib, a file or a thread, ' +
  'has to be wrapped in hold: await clock.hold(promise)'

const holdsSettled = ({ deliveries, calls }: Period, timeout: number): void => {
  for (const { startedAt, told, isCancelled } of deliveries) {
    const end = told.find(({ what }) => what !== 'verdict')?.at ?? Infinity
    if (isCancelled || end - startedAt <= timeout) continue
    const open = calls.find(({ ended }) => ended === undefined)
    const seen = told.length === 0 ? 'no verdict' : 'a verdict and no end'
    const hint =
      open === undefined
        ? calls.length === 0 && REAL
        : `a request met ${JSON.stringify(open.fault)}: has it a timeout on the clock of its world?`
    throw new Error(`a delivery had ${seen} after ${String(timeout)} ms${hint === false ? '' : `; ${hint}`}`)
  }
}

const holdsOneVerdict = ({ told }: Delivery): void => {
  for (const { what, value } of told) {
    holds(what !== 'error', `it ended with an error in place of a verdict: ${String(value)}`)
    holds(what !== 'verdict' || isVerdict(value), `it emitted what is no verdict: ${JSON.stringify(value)}`)
  }
  const order = told.map(({ what }) => what).join(', ')
  holds(['', 'verdict', 'verdict, complete'].includes(order), `it told: ${order}`)
}

/** One that is aborted at its start is no request. */
const holdsNothingRuns = ({ calls, endedAt }: Period): void => {
  for (const { startedAt, endedAt: last = Infinity } of calls) {
    const found = `all was over at ${String(endedAt)} ms, but a request ran until ${String(last)} ms`
    holds(last <= endedAt || startedAt === last, found)
  }
}

type Judged = Period['calls'][number]

const wasTaken = ({ meaning }: Judged): boolean => meaning === 'delivered'

const verdictIn = ({ told }: Delivery): Verdict | undefined => told.map(({ value }) => value).find(isVerdict)

/** A sink of several requests stops at the deadline. */
const isLate = ({ told, until }: Delivery): boolean => (told[0]?.at ?? 0) >= until

/** Deliveries that had the network for themselves, and were not cancelled; `counts`: with these requests. */
const aloneIn = (periods: ReadonlyArray<Period>, counts: (call: Judged) => boolean) =>
  periods.flatMap(({ deliveries: [delivery, ...others], calls }, n) => {
    const verdict = delivery && verdictIn(delivery)
    if (delivery?.isCancelled !== false || verdict === undefined || others.length > 0) return []
    if (verdict._tag === 'Left' && isLate(delivery)) return []
    const isSame = ({ before }: Delivery): boolean => before === delivery.before
    const isRepeat = periods.slice(0, n).some((at) => at.deliveries.some(isSame) && at.calls.some(wasTaken))
    return [{ ...delivery, verdict, calls: calls.filter(counts), isRepeat }]
  })

type Alone = ReturnType<typeof aloneIn>[number]

const conflict = ({ verdict, calls, before }: Pick<Alone, 'verdict' | 'calls' | 'before'>): string => {
  const faults = calls.map(({ fault }) => JSON.stringify(fault)).join(', ') || 'nothing, no request was sent'
  return `the network did ${faults}; the verdict on ${before} is ${JSON.stringify(verdict)}`
}

const isNewSuccess = (each: Verdict): boolean => each._tag === 'Right' && each.right.duplicate !== true

const holdsMeant = (alone: ReadonlyArray<Alone>, meaning: Meaning, { reach }: Run): void => {
  for (const one of alone) {
    if (one.calls.length === 0 || one.calls.some((call) => call.meaning !== meaning)) continue
    reach(meaning)
    holds(meaningOfVerdict(one.verdict) === meaning, conflict(one))
  }
}

/** Throws if the sink sent nothing at all, though a delivery had all the time that it may take. */
const holdsSent = ({ periods }: SinkTrace): void => {
  if (periods.some(({ calls }) => calls.length > 0)) return
  for (const { startedAt, until, told, isCancelled } of periods.flatMap(({ deliveries }) => deliveries)) {
    const [first] = told
    if (isCancelled || until < Infinity || first === undefined || first.at === startedAt) continue
    holds(!isVerdict(first.value) || first.value._tag === 'Right' || !isRetryable(first.value.left), REAL)
  }
}

const shownRequest = ({ method = 'POST', url = '', body = '' }: NetworkRequest): string => {
  const text = inspect(body, { maxStringLength: 200, maxArrayLength: 20 })
  return `${method} ${url} of ${body.length === 0 ? 'an empty body' : text}`
}

/** Throws if one delivery sends its item to a place again while that may still succeed or after it did. */
const holdsOnce = <A>(calls: ReadonlyArray<Judged>, carries: SinkLawOptions<A>['carries'], item: A): void => {
  const own = calls.filter(({ request }) => carries?.(request, item) ?? true)
  for (const [at, { request, startedAt }] of own.entries()) {
    const { url, method, body } = request
    const before = own.slice(0, at).find((call) => {
      const isSame = call.request.url === url && call.request.method === method
      const isOver = call.ended !== undefined && (call.endedAt ?? Infinity) <= startedAt
      const isAgain = isSame && (carries !== undefined || isDeepStrictEqual(call.request.body, body))
      return isAgain && (!isOver || wasTaken(call))
    })
    holds(before === undefined, `one delivery sent it twice: ${shownRequest(request)}`)
  }
}

const READ = 'delivered by a request that was read: a form or a Request is not, give { carries }'

/** The least and the most milliseconds that a Retry-After stands for: an hour is always enough. */
const waitOf = (header: string | undefined, now: number): readonly [number, number] | undefined => {
  const wait = /^\d+$/.test(header ?? '') ? Number(header) * 1_000 : Date.parse(header ?? '') - now
  return Number.isNaN(wait) ? undefined : [Math.min(Math.max(0, wait), 3_600_000), Math.max(0, wait)]
}

const OFFLINE = ['sink/settles', 'sink/one-verdict', 'sink/item-unchanged', 'sink/close']

const sinkLawOptions = strict({
  item: optional(methods<fc.Arbitrary<unknown>>('an Arbitrary of fast-check', 'generate', 'shrink')),
  carries: optional(func()),
  answers: withDefault(flag, true),
  statuses: withDefault(statusesOption, statusTable),
  timeout: withDefault(wholeNumber('ms', 1), 60_000),
  retryAfter: withDefault(flag, false),
})

/** With a default for the items, or with items of your own. @inline */
interface SinkLaws {
  (make: MakeSink<SinkItem>, options?: SinkLawOptions<SinkItem>): ReadonlyArray<Law>
  <A>(make: MakeSink<A>, options: SinkLawOptions<A> & { readonly item: fc.Arbitrary<A> }): ReadonlyArray<Law>
}

/**
 * The laws of a sink of your own: the reports of each delivery, and its verdict against the network. The sink
 * is made anew for each input, with a virtual clock, that of its attempts, and a network that it must use.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { sink } from 'headrace'
 * import { registerLaws, sinkLaws } from 'headrace/testing/laws'
 *
 * const laws = sinkLaws(({ network: { fetch } }) =>
 *   sink('mine', (item, { signal }) => {
 *     return fetch('https://api.example/items', { method: 'POST', body: JSON.stringify(item), signal })
 *   }),
 * )
 * registerLaws({ test }, laws)
 * ```
 */
export const sinkLaws: SinkLaws = <A>(make: MakeSink<A>, options: SinkLawOptions<A> = {}) => {
  const given = checkOptions('options of sinkLaws', sinkLawOptions, options)
  const { answers, timeout, retryAfter } = given
  // Without items of the caller, A is SinkItem.
  const byId = options.item === undefined ? (carriesId as NonNullable<typeof options.carries>) : undefined
  const carries = options.carries ?? byId
  const isCarried = ({ request }: NetworkCall, item: A) =>
    (options.carries === undefined ? request.unread : undefined) ?? carries?.(request, item) ?? true
  const play = async (input: SinkInput<A>, { log }: Pick<Run, 'log'>) => {
    const trace = await playSink(make, input, given, log)
    if (answers) holdsSent(trace)
    const carriesAny = (call: NetworkCall): boolean => trace.items.some(({ item }) => isCarried(call, item))
    const counts = options.carries === undefined ? () => true : carriesAny
    /** Failed deliveries whose requests, for their item or for none, were all taken. */
    const crowd = () =>
      trace.periods.flatMap(({ deliveries, calls }) => {
        const shared = calls.filter((call) => !carriesAny(call))
        return deliveries.flatMap((delivery) => {
          const [one, verdict] = [trace.items[delivery.item], verdictIn(delivery)]
          if (!one || verdict?._tag !== 'Left' || isLate(delivery)) return []
          const own = calls.filter((call) => shared.includes(call) || isCarried(call, one.item))
          const isSent = own.some(({ request }) => carries?.(request, one.item))
          const isOnce = deliveries.filter(({ before }) => before === one.before).length === 1
          return own.every(wasTaken) ? [{ ...delivery, verdict, calls: own, isSent, isOnce }] : []
        })
      })
    return { ...trace, crowd, judged: () => aloneIn(trace.periods, counts) }
  }
  /** The verdict of a new sink on one of the items, over a healthy network. */
  const freshVerdict = async (input: SinkInput<A>, at: number): Promise<Verdict | undefined> => {
    const steps = input.steps.slice(at, at + 1).map((step) => ({ ...step, ...plainStep }))
    const { periods } = await playSink(make, { ...input, script: [], steps }, given, () => undefined)
    return periods[0]?.deliveries.map(verdictIn)[0]
  }
  const laws = lawsOver('sink', sinkInputs(itemsOf(options), answers), play, {
    settles: {
      statement:
        'Every delivery that is not cancelled ends in time, also one started within a verdict or an end.',
      check: ({ periods }) => periods.forEach((period) => holdsSettled(period, timeout)),
    },
    'one-verdict': {
      statement: 'A delivery emits one verdict, then completes; it never throws.',
      check: ({ periods }) => periods.forEach(({ deliveries }) => deliveries.forEach(holdsOneVerdict)),
    },
    'item-unchanged': {
      statement: 'A sink does not change its items.',
      check: ({ items }) =>
        items.forEach(({ before, now }) => holds(before === now, `the item ${before} became ${now}`)),
    },
    close: {
      statement: 'close resolves in its time, if one is given, and may be called again and at the same time.',
      check: async ({ clock, close, hang, stop }, { seed }) => {
        const limit = seed % 3 === 1 ? {} : { timeout: seed % 5_000 }
        if (seed % 3 === 2) hang()
        const once = (): Promise<void> => {
          const closing = close(limit)
          holds(isPromiseLike(closing), 'close({ timeout }) must answer a Promise')
          return closing
        }
        await clock.run(Promise.all([once(), once()]), { timeout, ...limit }).finally(stop)
        await clock.run(once(), { timeout, ...limit })
      },
    },
    'each-subscription': {
      statement: 'Each subscription is a delivery of its own, and nothing is sent before it.',
      situations: ['a request was sent over the network of its world'],
      check: (trace, _, { reach }) => {
        holds(trace.early === 0, 'a request was sent before a delivery was subscribed')
        for (const { verdict, calls } of trace.judged())
          if (calls.length > 0) reach('a request was sent over the network of its world')
          else holds(!isNewSuccess(verdict), 'a subscription was delivered without a request')
      },
    },
    'delivered-if-accepted': {
      statement: 'An item is delivered if the receiver accepted it with a 2xx, and only then.',
      situations: ['delivered', 'not accepted'],
      check: (trace, _, run) => {
        holdsMeant(trace.judged(), 'delivered', run)
        for (const one of trace.judged()) {
          if (one.calls.some(wasTaken)) continue
          run.reach('not accepted')
          holds(isLeft(one.verdict) || (one.isRepeat && !isNewSuccess(one.verdict)), conflict(one))
        }
        for (const one of trace.crowd()) holds(!one.isSent || one.isCancelled || !one.isOnce, conflict(one))
      },
    },
    'failed-is-retryable': {
      statement: 'After a 5xx, a 429, a timeout or a fault of the network the item may be tried again.',
      situations: ['retryable'],
      check: (trace, _, run) => holdsMeant(trace.judged(), 'retryable', run),
    },
    'refused-is-final': {
      statement: 'A 4xx is final, except 429; 408 and 425 may be. No other delivery makes an item final.',
      situations: ['refused'],
      check: async ({ judged, crowd }, input, run) => {
        holdsMeant(judged(), 'refused', run)
        for (const one of crowd()) {
          if (meaningOfVerdict(one.verdict) !== 'refused') continue
          holds(!one.isSent && isLeft((await freshVerdict(input, one.item)) ?? one.verdict), conflict(one))
        }
      },
    },
    'retry-after': {
      statement:
        'A Retry-After, seconds or a date, becomes notBefore, or a second later; an hour may stand for more.',
      situations: ['asked to wait'],
      check: (trace, _, { reach }) => {
        for (const one of trace.judged()) {
          const last = one.calls.at(-1)
          const answeredAt = trace.clock.now() - trace.clock.monotonic() + (last?.endedAt ?? 0)
          const wait = last && waitOf(answerTo(last)?.headers['retry-after'], answeredAt)
          if (wait === undefined || one.verdict._tag === 'Right' || !isRetryable(one.verdict.left)) continue
          reach('asked to wait')
          const [least, most] = wait
          const told = (earliestRetry(one.verdict.left) ?? 0) - answeredAt
          const isRight = told >= least && told <= most + 1_000
          holds(isRight || (told <= 0 && most === 0), `${conflict(one)}, asked for ${String(most)} ms`)
        }
      },
    },
    'sends-the-item': {
      statement: 'A delivered item was in an accepted request; none carries another item, or this one again.',
      situations: [READ],
      check: ({ periods, items }, _, { reach }) => {
        for (const period of periods) {
          const own = new Set(period.deliveries.map(({ before }) => before))
          for (const { item, before } of items)
            for (const { request, ended, startedAt, endedAt } of own.has(before) ? [] : period.calls)
              holds(
                carries?.(request, item) !== true || (ended === 'cancelled' && startedAt === endedAt),
                `${shownRequest(request)} carries ${before}, which is not delivered now`,
              )
          for (const delivery of period.deliveries) {
            const verdict = verdictIn(delivery)
            const one = items[delivery.item]
            if (one === undefined || verdict === undefined || !isNewSuccess(verdict)) continue
            const accepted = period.calls.filter(wasTaken)
            if (options.carries || accepted.some(({ request }) => request.unread !== true)) reach(READ)
            const isSent = accepted.some((call) => isCarried(call, one.item))
            const sent = accepted.map(({ request }) => shownRequest(request)).join(', ')
            const way = 'if it does in a form of its own, give { carries }'
            holds(isSent, `no accepted request carries ${one.before}: ${sent}; ${way}`)
            if (period.deliveries.length === 1) holdsOnce(period.calls, carries, one.item)
          }
        }
      },
    },
    independent: {
      statement:
        'After cancels and failures, an item is delivered over a healthy network if a new sink delivers it.',
      situations: ['others were cancelled', 'others failed'],
      check: async (trace, input, { reach }) => {
        for (const each of trace.periods.flatMap(({ deliveries }) => deliveries)) {
          if (each.isCancelled) reach('others were cancelled')
          if (verdictIn(each)?._tag === 'Left') reach('others failed')
        }
        const verdict = await trace.alone()
        if (verdict?._tag === 'Right') return
        const fresh = await freshVerdict(input, 0)
        const had = verdict === undefined ? 'no verdict' : JSON.stringify(verdict)
        holds(fresh?._tag !== 'Right', `a delivery over a healthy network had ${had}`)
      },
    },
    'keeps-deadline': {
      statement: 'No request starts at or after `until` of its attempt.',
      situations: ['a deadline'],
      check: ({ periods, items }, _, { reach }) => {
        for (const { deliveries, calls } of periods) {
          if (deliveries.some(({ until }) => until < Infinity)) reach('a deadline')
          for (const { request, startedAt } of calls) {
            const isOwn = items.map(({ item }) => carries?.(request, item))
            const own = deliveries.filter(({ item }) => isOwn[item])
            const until = Math.max(...(own.length === 0 ? deliveries : own).map((each) => each.until))
            const found = `a request started at ${String(startedAt)} ms, the deadline was ${String(until)} ms`
            holds(startedAt < until, found)
          }
        }
      },
    },
    'leaves-no-timer': {
      statement: 'After the last delivery and a close no timer is left.',
      check: async ({ clock, alone, close }) => {
        await alone()
        await clock.run(close({ timeout: 1_000 })).catch(() => undefined)
        same(clock.timers(), [])
      },
    },
    'completes-last': {
      statement: 'A delivery completes when none of its requests runs any more, and none begins afterwards.',
      check: ({ periods }) =>
        periods
          .filter(({ deliveries }) => deliveries.every(({ told }) => told.at(-1)?.what === 'complete'))
          .forEach(holdsNothingRuns),
    },
    'cancel-aborts': {
      statement: 'A cancel, also by take(1), aborts running requests at once, and none begins afterwards.',
      situations: ['a request ran'],
      check: ({ periods }, _, { reach }) => {
        for (const period of periods) {
          if (!period.deliveries.some(({ isCancelled }) => isCancelled)) continue
          if (period.calls.some(({ ended }) => ended === 'cancelled')) reach('a request ran')
          holdsNothingRuns(period)
        }
      },
    },
  })
  return laws.filter(({ id }) => (answers ? retryAfter || id !== 'sink/retry-after' : OFFLINE.includes(id)))
}

/** What a developer reads when a sink is used or written wrongly. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { interval, map, NEVER, of, tap, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { retryable, sink, systemClock, toScheduler, withTimeout } from '../../../src/index.ts'
import type { HandlerContext, Verdict } from '../../../src/index.ts'
import type { StatusTable } from '../../../src/http/webhook.ts'
import type { NetworkRequest } from '../../../src/testing/network.ts'
import { moreBrokenSinks } from '../../support/brokenVersions.ts'
import { broken, checkLaws, layerLaws, pipelineLaws } from '../../../src/testing/laws/index.ts'
import { registerLaws, reportOf, sinkLaws } from '../../../src/testing/laws/index.ts'
import { changedSink, eventPipeline, type Events } from '../../../src/testing/laws/brokenParts.ts'
import { carriesId, networkSink, type MakeSink, type SinkItem } from '../../../src/testing/laws/sinkWorld.ts'
import { throwing } from '../../support/check.ts'
import { runs } from '../../support/runs.ts'

/** What code without types may give in place of a part of a sink. */
const untyped = (value: unknown): never => value as never

const delivering =
  (deliver: (item: SinkItem) => Observable<Verdict>): MakeSink<SinkItem> =>
  (world) => ({ ...networkSink<SinkItem>(world), deliver })

const unclosable: MakeSink<SinkItem> = (world) => ({
  ...networkSink<SinkItem>(world),
  close: () => untyped(undefined),
})

const polling: MakeSink<SinkItem> = (world) => {
  interval(1, toScheduler(world.clock)).subscribe({ error: () => undefined })
  return networkSink(world)
}

const unmade = throwing('no such host')
const taking = delivering(() => of(right({ sink: 'mine' })))
const silent = delivering(() => NEVER)
const numbers = delivering(() => of<Verdict>(untyped(5)))
const promise = delivering(() => untyped(Promise.resolve()))
const zipped = promisify(gzip)
const zipping =
  (isHeld: boolean): MakeSink<SinkItem> =>
  ({ clock, network }) =>
    sink('zipping', async (item, { signal }) => {
      const zip = zipped(JSON.stringify(item))
      const body = await (isHeld ? clock.hold(zip) : zip)
      return network.fetch('http://receiver.test/', { method: 'POST', body, signal })
    })

const inItsOwnForm: MakeSink<SinkItem> = ({ network }) =>
  sink('own form', ({ value }, { signal }) =>
    network.fetch('http://a.test/', { method: 'POST', body: `<${value}>`, signal }),
  )
const carries = ({ body }: NetworkRequest, { value }: SinkItem): boolean => body === `<${value}>`

/** It sends nothing of its item. */
const ofForms: MakeSink<SinkItem> = ({ network: { fetch } }) =>
  sink('forms', (_, { signal }) => fetch('http://a.test/', { method: 'POST', body: new FormData(), signal }))

const mistakes: ReadonlyArray<readonly [law: string, make: MakeSink<SinkItem>, said: string]> = [
  ['settles', () => untyped(() => 1), 'expected a sink, got a function'],
  ['each-subscription', () => untyped(undefined), 'expected a sink, got undefined'],
  ['close', unmade, 'no such host'],
  ['one-verdict', moreBrokenSinks['throws in deliver'].make, 'deliver threw: Error: planted'],
  ['one-verdict', promise, 'deliver threw: TypeError: deliver answered an object, not an Observable'],
  ['one-verdict', numbers, 'it emitted what is no verdict: 5'],
  ['one-verdict', broken.sinks['emits two verdicts'].make, 'it told: verdict, verdict'],
  ['settles', silent, 'a delivery had no verdict after 60000 ms'],
  ['settles', broken.sinks['never completes'].make, 'a delivery had a verdict and no end after 60000 ms'],
  ['settles', (world) => networkSink(world, Infinity), 'has it a timeout on the clock of its world?'],
  ['settles', polling, 'livelock: 20000 timers'],
  ['item-unchanged', moreBrokenSinks['changes its item'].make, ', sent: true }'],
  ['cancel-aborts', taking, 'never reached: a request ran'],
  ['delivered-if-accepted', taking, 'the network did nothing, no request was sent'],
  ['close', moreBrokenSinks['cannot be closed twice'].make, 'sink/close is broken: planted'],
  ['close', moreBrokenSinks['never closes'].make, 'the task is not done after '],
  ['sends-the-item', inItsOwnForm, 'if it does in a form of its own, give { carries }'],
  ['sends-the-item', ofForms, 'a form or a Request is not, give { carries }'],
  ['delivered-if-accepted', zipping(false), 'has to be wrapped in hold: await clock.hold(promise)'],
  ['close', unclosable, 'close({ timeout }) must answer a Promise'],
]

it.each(mistakes)('sink/%s: %#', async (id, make, said) => {
  const [law] = sinkLaws(make).filter((each) => each.id === `sink/${id}`)
  // No time to make the input smaller: the words are those of any.
  const report = law === undefined ? undefined : await reportOf(law, { runs: 100, seed: 1, timeout: 1 })
  expect(report?.result).not.toBe('kept')
  expect(report?.text).toContain(said)
})

const few = { runs: runs(0.25) }
describe('a sink that compresses in a hold', () => registerLaws({ test: it }, sinkLaws(zipping(true)), few))
describe('a form of its own', () => registerLaws({ test: it }, sinkLaws(inItsOwnForm, { carries }), few))

/** It needs a token of another endpoint first. */
const withToken: MakeSink<SinkItem> = ({ network, clock }) => {
  let status = 0
  const send = async (item: SinkItem, { signal, attempt }: HandlerContext) => {
    if (status !== 200) status = (await network.request({ url: 'http://auth.test/', signal })).status
    if (status !== 200 || clock.now() >= attempt.until) return left(retryable('token'))
    return network.request({ body: JSON.stringify(item), signal })
  }
  return sink('with a token', send, { timeout: 5_000 })
}
describe('two endpoints', () => registerLaws({ test: it }, sinkLaws(withToken, { carries: carriesId })))

const known = changedSink((delivery) =>
  delivery.pipe(map((each) => (JSON.stringify(each).includes('409') ? right({ sink: 'known' }) : each))),
)
const statuses: StatusTable = [{ from: 409, to: 409, means: 'delivered' }]
describe('statuses of its own', () => registerLaws({ test: it }, sinkLaws(known, { statuses }), few))

const made = untyped(withTimeout({ timeout: 9 }))
const keyless = pipelineLaws(eventPipeline, { keyOf: () => undefined })
const misused: ReadonlyArray<readonly [check: () => Promise<unknown>, said: string]> = [
  [async () => checkLaws(layerLaws(made)), 'give a function that answers the'],
  [async () => checkLaws(pipelineLaws(untyped(() => undefined))), 'give an Observable back, got undefined'],
  [async () => checkLaws(keyless, { only: 'pipeline/keeps-order' }), 'never reached: two items with one key'],
  [async () => registerLaws(untyped(it), sinkLaws(known)), 'give { test }: registerLaws({ test }, laws)'],
]
it.each(misused)('names a mistake of use: %#', (check, said) => expect(check()).rejects.toThrow(said))

it('a pipeline gets its items as they are, such as a Date', async () => {
  const dates = new Set<unknown>()
  const item = (mark: string) => fc.tuple(fc.constant(mark), fc.date())
  const see = tap((given) => dates.add(Array.isArray(given) && given[1] instanceof Date))
  const [law] = pipelineLaws(
    untyped((source$: Observable<unknown>) => source$.pipe(see)),
    { item },
  )
  if (law !== undefined) await reportOf(law, { runs: 10 })
  expect([...dates]).toEqual([true])
})

it('a pipeline that forgot the clock of its world is asked for it, and leaves no timer', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const before = timers()
  const clock = untyped(systemClock)
  const onMachine: Events = (source$, inner, world) => eventPipeline(source$, inner, { ...world, clock })
  await expect(checkLaws(pipelineLaws(onMachine), { seed: 1 })).rejects.toThrow('take the clock of its world')
  expect(timers()).toBeLessThanOrEqual(before)
})

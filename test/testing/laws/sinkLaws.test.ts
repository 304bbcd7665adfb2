/** What a developer reads when a sink is used or written wrongly. */
import { right } from 'fp-ts/lib/Either.js'
import { interval, NEVER, of, type Observable } from 'rxjs'
import { expect, it } from 'vitest'
import { toScheduler } from '../../../src/core/clock.ts'
import type { Verdict } from '../../../src/core/failure.ts'
import { reportOf } from '../../../src/testing/laws/checkLaws.ts'
import { sinkLaws } from '../../../src/testing/laws/sinkLaws.ts'
import { networkSink, type MakeSink, type SinkItem } from '../../../src/testing/laws/sinkWorld.ts'

/** What code without types may give in place of a part of a sink. */
const untyped = (value: unknown): never => value as never

const delivering =
  (deliver: (item: SinkItem) => Observable<Verdict>): MakeSink<SinkItem> =>
  (world) => ({ ...networkSink<SinkItem>(world), deliver })

const closing =
  (close: () => () => Promise<void>): MakeSink<SinkItem> =>
  (world) => ({ ...networkSink<SinkItem>(world), close })

const mistakes: ReadonlyArray<readonly [what: string, law: string, make: MakeSink<SinkItem>, said: string]> =
  [
    [
      'a function in place of a sink',
      'sink/settles',
      () => untyped(() => 1),
      'expected a sink, got a function',
    ],
    ['nothing in place of a sink', 'sink/cold', () => untyped(undefined), 'expected a sink, got undefined'],
    [
      'a sink that cannot be made',
      'sink/close',
      () => {
        throw new Error('no such host')
      },
      'no such host',
    ],
    [
      'a deliver that throws',
      'sink/one-verdict',
      delivering(() => {
        throw new Error('planted')
      }),
      'deliver threw: Error: planted',
    ],
    [
      'a deliver that answers a Promise',
      'sink/one-verdict',
      delivering(() => untyped(Promise.resolve())),
      'deliver threw: TypeError: deliver answered an object, not an Observable',
    ],
    [
      'a verdict that is none',
      'sink/one-verdict',
      delivering(() => of<Verdict>(untyped({ status: 200 }))),
      'it emitted what is no verdict: {"status":200}',
    ],
    ['no verdict', 'sink/settles', delivering(() => NEVER), 'a delivery had no verdict after 60000 ms'],
    [
      'no timeout',
      'sink/settles',
      (world) => networkSink(world, Infinity),
      'a request met {"do":"silence"}: has it a timeout on the clock of its world?',
    ],
    [
      'two verdicts',
      'sink/one-verdict',
      delivering(() => of(right({ sink: 'mine' }), right({ sink: 'mine' }))),
      'it told: verdict, verdict',
    ],
    [
      'a changed item',
      'sink/item-unchanged',
      delivering((item) => {
        Object.assign(item, { sent: true })
        return of(right({ sink: 'mine' }))
      }),
      "the item { id: 'i0', value: 0 } became { id: 'i0', value: 0, sent: true }",
    ],
    [
      'a timer that comes again for ever',
      'sink/settles',
      (world) => {
        interval(1, toScheduler(world.clock)).subscribe({ error: () => undefined })
        return networkSink(world)
      },
      'livelock: 20000 timers',
    ],
    [
      'a sink that does not use the network of its world',
      'sink/cancel-aborts',
      delivering(() => of(right({ sink: 'mine' }))),
      'never reached: a request ran',
    ],
    [
      'a close that rejects',
      'sink/close',
      closing(() => () => Promise.reject(new Error('stuck'))),
      'a close rejected',
    ],
    [
      'a close that is no Task',
      'sink/close',
      closing(() => untyped(Promise.resolve())),
      'close(within) must answer a Task',
    ],
  ]

it.each(mistakes)('%s is told by %s', { timeout: 30_000 }, async (_what, id, make, said) => {
  const [law] = sinkLaws(make).filter((each) => each.id === id)
  const report = law === undefined ? undefined : await reportOf(law, { runs: 100, seed: 1 })
  expect(report?.result).not.toBe('kept')
  expect(report?.text).toContain(said)
})

it('the laws of a sink replay from their counterexample', async () => {
  const [law] = sinkLaws(delivering(() => NEVER))
  if (law === undefined) throw new Error('there is no law')
  const { text, counterexample } = await reportOf(law, { seed: 1 })
  expect(text).toContain(`example: ${JSON.stringify(counterexample)}`)
  expect((await reportOf(law, { example: counterexample })).result).toBe('broken')
})

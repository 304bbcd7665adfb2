import * as fc from 'fast-check'
import { refused, retryable, type Failure, type Verdict } from '../../core/failure.ts'
import type { Sink } from '../../sink/sink.ts'
import { scriptedSink, type Reply, type ScriptedSink } from '../scriptedSink.ts'
import type { World } from '../simulate.ts'
import { holds, same } from './assert.ts'
import { lawsOver, type Law, type Run } from './law.ts'
import { sinkLaws, type SinkLawOptions } from './sinkLaws.ts'
import { itemsOf, networkSink, openSink, type SinkItem } from './sinkWorld.ts'

/** Makes the layer under test, anew for each input. Give it time and room enough, so that it has nothing to do. */
export type MakeLayer<A = SinkItem> = (world: World) => (sink: Sink<A>) => Sink<A>

/** One delivery through a layer. Null stands for undefined and for Infinity, which JSON does not have. */
interface LayerInput<out A> {
  readonly seed: number
  readonly item: A
  readonly number: number
  readonly until: number | null
  readonly lastFailure: Failure | null
  readonly verdict: Verdict
  /** Milliseconds to the verdict, and from there to the end; null for at once. */
  readonly after: number | null
  readonly rest: number | null
  readonly end: 'completes' | 'fails' | 'fails without a verdict'
  readonly cancelAt: number | null
}

const START = Date.UTC(2026, 0, 1)

const failures = fc.constantFrom<Failure>(
  refused('status', { status: 410 }),
  retryable('network'),
  retryable('status', { status: 503, notBefore: START + 500 }),
)

const inputsOf = <A>(item: fc.Arbitrary<A>): fc.Arbitrary<LayerInput<A>> =>
  fc.record({
    seed: fc.nat(),
    item,
    number: fc.integer({ min: 1, max: 40 }),
    until: fc.constantFrom(null, START + 86_400_000),
    lastFailure: fc.option(failures),
    verdict: fc.oneof(
      fc.constant<Verdict>({ _tag: 'Right', right: { sink: 'inner' } }),
      failures.map((failure): Verdict => ({ _tag: 'Left', left: failure })),
    ),
    after: fc.option(fc.nat(50)),
    rest: fc.option(fc.nat(50)),
    end: fc.constantFrom('completes', 'completes', 'fails', 'fails without a verdict'),
    cancelAt: fc.option(fc.nat(100)),
  })

const replyOf = ({ verdict, after, rest, end }: LayerInput<unknown>): Reply => ({
  ...(end === 'fails without a verdict' ? {} : { verdict }),
  ...(end === 'completes' ? {} : { defect: new Error('planted') }),
  ...(after === null ? {} : { after }),
  ...(rest === null ? {} : { rest }),
})

/** Plays one delivery to a scripted sink inside the layer. */
const play = async <A>(make: MakeLayer<A>, input: LayerInput<A>, run: Run) => {
  const { number, until, lastFailure, cancelAt } = input
  const attempt = { number, until: until ?? Infinity, lastFailure: lastFailure ?? undefined }
  const inners: Array<ScriptedSink<A>> = []
  const { clock, sink, deliver } = openSink<A>(
    (world) => {
      const inner = scriptedSink<A>({ name: 'inner', clock: world.clock, reply: () => replyOf(input) })
      inners.push(inner)
      return make(world)(inner)
    },
    { seed: input.seed, script: [] },
    run,
  )
  const delivery = deliver(input.item, () => undefined, attempt)
  await clock.advance(cancelAt ?? 0)
  if (cancelAt !== null) delivery.cancel()
  await clock.advance(1_000)
  const left = clock.timers()
  await clock.run(sink.close(50))
  const told = delivery.told.map(({ what, value, at }) => ({ what, value, at }))
  return {
    attempt,
    told,
    left,
    name: sink.name,
    calls: inners[0]?.calls ?? [],
    closed: inners[0]?.closed ?? [],
  }
}

/** The form of the call without an arbitrary delivers objects such as `{ id: 'i3', value: 3 }`. @inline */
interface LayerLaws {
  (make: MakeLayer, options?: SinkLawOptions<SinkItem>): ReadonlyArray<Law>
  <A>(make: MakeLayer<A>, options: SinkLawOptions<A> & { readonly item: fc.Arbitrary<A> }): ReadonlyArray<Law>
}

/**
 * The laws of a layer of your own: it passes on what comes in and what goes out as long as it has nothing to do. With them come the laws of
 * a sink, for a sink inside the layer that keeps them.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { withTimeout } from 'headrace'
 * import { layerLaws, registerLaws } from 'headrace/testing/laws'
 *
 * registerLaws({ test }, layerLaws(({ clock }) => withTimeout(30_000, { clock })))
 * ```
 */
export const layerLaws: LayerLaws = <A>(make: MakeLayer<A>, options: SinkLawOptions<A> = {}) => {
  const item = itemsOf(options)
  return [
    ...lawsOver('layer', inputsOf(item), (input, run) => play(make, input, run), {
      'passes-attempt': {
        statement: 'The sink inside gets the number, the deadline and the last failure of the attempt.',
        check: ({ calls, attempt }) => {
          const { number, until, lastFailure } = calls[0]?.attempt ?? {}
          same({ calls: calls.length, number, until, lastFailure }, { calls: 1, ...attempt })
        },
      },
      'passes-verdict': {
        statement: 'What the sink inside tells is told, unchanged and at its time.',
        check: async ({ told }, input, run) =>
          same(told, (await play(() => (sink) => sink, input, run)).told),
      },
      'passes-cancel': {
        statement: 'A cancel cancels the delivery inside, at its moment.',
        check: ({ calls }, { cancelAt }) => {
          if (cancelAt !== null) holds((calls[0]?.endedAt ?? Infinity) <= cancelAt, 'the sink inside ran on')
        },
      },
      'keeps-name': {
        statement: 'It has the name of the sink inside: failures are remembered by it.',
        check: ({ name }) => same(name, 'inner'),
      },
      'passes-close': {
        statement: 'close closes the sink inside once, with its time.',
        check: ({ closed }) => same(closed, [50]),
      },
      'leaves-no-timer': {
        statement: 'No timer is left after a delivery.',
        check: ({ left }) => same(left, []),
      },
    }),
    ...sinkLaws<A>((world) => make(world)(networkSink(world)), { retryAfter: true, ...options, item }),
  ]
}

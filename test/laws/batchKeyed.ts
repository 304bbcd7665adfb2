/** B16. Batching by key is not a part of its own: RxJS's `groupBy` around `batch` is, and this is the law that it keeps. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { Subject, groupBy, mergeMap } from 'rxjs'
import type { Observable } from 'rxjs'
import type { Payload } from '../../src/event/payload.ts'
import type { ObservableEither } from '../../src/core/outcome.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { BatchUnderTest } from './batchPlay.ts'
import { law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'

interface Keyed {
  readonly key: number
  readonly n: number
}

type Step = { readonly key: number } | { readonly ms: number }

type Row = readonly [at: number, items: ReadonlyArray<Keyed>]

const play = (
  steps: ReadonlyArray<Step>,
  through: (
    source: ObservableEither<never, Payload<Keyed>>,
    clock: ReturnType<typeof virtualClock>,
  ) => Observable<unknown>,
): ReadonlyArray<Row> => {
  const clock = virtualClock()
  const source = new Subject<ReturnType<typeof right<never, Payload<Keyed>>>>()
  const rows: Row[] = []
  through(source, clock).subscribe((each) => {
    // Nothing here is turned away, so every value is a batch.
    rows.push([clock.monotonic(), (each as { right: Payload<Keyed> }).right.items])
  })
  steps.forEach((step, n) => {
    if ('ms' in step) clock.tick(step.ms)
    else source.next(right({ id: String(n), items: [{ key: step.key, n }], text: String(n), byteLength: 1 }))
  })
  source.complete()
  return rows
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ key: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ ms: fc.constantFrom(5, 9, 10, 11) }) },
)

export const keyedLaw = (make: BatchUnderTest): Law =>
  law(
    'B16 batches of one key are as if it were alone',
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const options = { maxCount: 3, maxDelay: 10 }
      const together = play(steps, (source, clock) =>
        source.pipe(
          groupBy((each) => (each._tag === 'Right' ? each.right.items[0].key : undefined)),
          mergeMap((group) => group.pipe(make({ ...options, clock }))),
        ),
      )
      for (const key of [0, 1, 2]) {
        const own = steps.map((each) => ('ms' in each || each.key === key ? each : { ms: 0 }))
        same(
          together.filter(([, items]) => items[0]?.key === key),
          play(own, (source, clock) => source.pipe(make({ ...options, clock }))),
        )
      }
    }),
  )

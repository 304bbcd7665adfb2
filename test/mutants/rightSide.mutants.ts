import { left, right } from 'fp-ts/lib/Either.js'
import { map, mergeMap } from 'rxjs'
import { enrich, filterRight, flatMapRight, mapRight, tapRight } from '../../src/operators/rightSide.ts'
import { rightSideLaws, type RightSide } from '../laws/rightSide.laws.ts'
import { itCatches } from '../support/mutants.ts'

const whole: RightSide = { mapRight, flatMapRight, filterRight, tapRight, enrich }

/** Written with the operators of RxJS alone, as a host would at first. */
const careless: Pick<RightSide, 'mapRight' | 'tapRight'> = {
  mapRight: (change) => map((each) => (each._tag === 'Left' ? each : right(change(each.right)))),
  tapRight: (look) =>
    map((each) => {
      if (each._tag === 'Right') look(each.right)
      return each
    }),
}

const unordered: RightSide['enrich'] = (change, options) =>
  mergeMap(async (each) => {
    if (each._tag === 'Left') return each
    try {
      return right(await change(each.right, { signal: new AbortController().signal }))
    } catch (error) {
      return left({ _tag: 'Threw' as const, operator: 'enrich', error, input: each.right })
    }
  }, options?.concurrency ?? 16)

const but = (changed: Partial<RightSide>): RightSide => ({ ...whole, ...changed })

// The next two break what their types say.
const filtering = ((isWanted: (item: unknown) => boolean) =>
  mergeMap((each: { _tag: string; right: unknown }) =>
    each._tag === 'Left' || isWanted(each.right) ? [each] : [],
  )) as unknown as RightSide['filterRight']
const passing = ((change: (item: unknown) => unknown) =>
  mapRight((item) => ({ answer: change(item) }))) as unknown as RightSide['flatMapRight']

itCatches<RightSide>('operators for the right side', rightSideLaws, {
  'L1: a throw ends the stream of mapRight': but(careless),
  'L3: a throw ends the stream of tapRight': but(careless),
  'L2: filterRight drops without a word': but({ filterRight: filtering }),
  'L6: flatMapRight passes a left as its item': but({ flatMapRight: passing }),
  'L7: mapRight passes a promise as its item': but({
    mapRight: (change) => flatMapRight((item) => right(change(item))),
  }),
  'L4: enrich loses the order': but({ enrich: unordered }),
  'L5: enrich starts one too many': but({
    enrich: (change, options) => enrich(change, { concurrency: (options?.concurrency ?? 16) + 1 }),
  }),
})

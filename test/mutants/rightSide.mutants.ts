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

itCatches<RightSide>('operators for the right side', rightSideLaws, {
  'L1: a throw ends the stream of mapRight': { ...whole, ...careless },
  'L3: a throw ends the stream of tapRight': { ...whole, ...careless },
  'L2: filterRight drops without a word': {
    ...whole,
    // The mutant breaks what the type says.
    filterRight: ((isWanted: (item: unknown) => boolean) =>
      mergeMap((each: { _tag: string; right: unknown }) =>
        each._tag === 'Left' || isWanted(each.right) ? [each] : [],
      )) as unknown as RightSide['filterRight'],
  },
  'L6: flatMapRight passes a left as its item': {
    ...whole,
    // The mutant breaks what the type says.
    flatMapRight: ((change: (item: unknown) => unknown) =>
      mapRight((item) => ({ answer: change(item) }))) as unknown as RightSide['flatMapRight'],
  },
  'L7: mapRight passes a promise as its item': {
    ...whole,
    mapRight: (change) => flatMapRight((item) => right(change(item))),
  },
  'L4: enrich loses the order': { ...whole, enrich: unordered },
  'L5: enrich starts one too many': {
    ...whole,
    enrich: (change, options) => enrich(change, { concurrency: (options?.concurrency ?? 16) + 1 }),
  },
})

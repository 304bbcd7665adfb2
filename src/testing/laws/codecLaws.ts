import * as fc from 'fast-check'
import { tryCatch } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { isLeft, isRight, valueOr } from '../../core/either.ts'
import { faultsOf } from '../../event/codecFaults.ts'
import { showPath } from '../../event/json.ts'
import { holds, same, law, lawsOver, type Law } from './law.ts'
import { arbitraryFor, type CodecArbitraryOptions } from './codecArbitrary.ts'
import { replacedAt, placesIn } from './invalidInput.ts'
import { hostileJson } from './jsonValues.ts'
import { odd } from './oddValues.ts'

/** A function has no copy, but it cannot be changed either. */
const cloneOf = <A>(value: A): A => valueOr(value, () => structuredClone(value))

/** How the values of a codec are made. */
export interface CodecLawOptions<out A> extends CodecArbitraryOptions {
  /** Its values. Default: `arbitraryFor(codec, options)`. */
  readonly arbitrary?: fc.Arbitrary<A>
}

/**
 * Laws for a codec of io-ts: it decodes its encodings, and refuses wrong input by its place.
 *
 * @example
 * import { checkLaws, codecLaws } from 'headrace/testing/laws'
 * import * as t from 'io-ts'
 *
 * const Order = t.strict({ total: t.number, items: t.array(t.string) })
 * const reports = await checkLaws(codecLaws(Order), { runs: 50, seed: 1 })
 * console.log(reports.every(({ result }) => result === 'kept')) // => true
 */
export const codecLaws = <A, O>(codec: t.Type<A, O>, given: CodecLawOptions<A> = {}): ReadonlyArray<Law> => {
  const { arbitrary, ...others } = given
  const damaged = fc.record({
    value: arbitrary ?? arbitraryFor(codec, others),
    place: fc.nat({ max: 10_000 }),
    /** The value at the place in the encoding; null leaves it out. */
    other: fc.oneof(fc.constantFrom<unknown>(null, '', 7, true, [], {}), hostileJson),
  })
  const textOf = (value: A): string => JSON.stringify(codec.encode(value))
  const play = ({ value, place, other }: { value: A; place: number; other: unknown }) => {
    const before = cloneOf(value)
    const encoded: unknown = codec.encode(value)
    const places = placesIn([[], encoded])
    const [at] = places[place % places.length] ?? [[]]
    return { value, before, at, input: replacedAt(encoded, at, other === null ? [] : [other]) }
  }
  /** Inputs that break a rule, outside of texts and t.unknown. The rules of a codec by hand are not known. */
  const reached = tryCatch(() => {
    const tried = fc.sample(damaged, { numRuns: 200, seed: 1 }).map(play)
    return '_tag' in codec ? tried.filter(({ input }) => isLeft(codec.decode(input))) : tried
  }, String)
  const refuses = isLeft(reached) || reached.right.length > 0 ? ['refused'] : []
  const isInside = isLeft(reached) || reached.right.some(({ at }) => at.length > 0)
  const laws = [
    ...lawsOver('codec', damaged, play, {
      'round-trip': {
        statement: 'Decoding what was encoded gives the value.',
        check: ({ value }) => same(codec.decode(codec.encode(value)), { _tag: 'Right', right: value }),
      },
      'encoding-is-stable': {
        statement: 'Encoding a value twice gives the same text; decoded, only keys may be in other order.',
        check: ({ value, before }) => {
          const text = textOf(value)
          // Clones, because an arbitrary may make objects without a prototype.
          same([textOf(value), structuredClone(value)], [text, before])
          const decoded = codec.decode(JSON.parse(text))
          if (isRight(decoded)) same(JSON.parse(textOf(decoded.right)), JSON.parse(text))
        },
      },
      'is-agrees-with-decode': {
        statement: 'What `is` says yes to is decoded again, and what was decoded `is` says yes to.',
        situations: refuses,
        check: ({ value, input }, _, { reach }) => {
          holds(codec.is(value), '`is` says no to a value')
          const decoded = codec.decode(input)
          if (isLeft(decoded)) reach('refused')
          else holds(codec.is(decoded.right), '`is` says no to what was decoded')
          if (codec.is(input)) holds(isRight(codec.decode(codec.encode(input))), '`is` takes what is refused')
        },
      },
      'input-stays': {
        statement: 'Decoding does not change its input.',
        check: ({ input }) => {
          const before = cloneOf(input)
          codec.decode(input)
          same(cloneOf(input), before)
        },
      },
      'faults-name-their-place': {
        statement: 'A fault names the wrong place, what holds it, or a place in there.',
        situations: isInside ? ['refused inside'] : [],
        check: ({ input, at }, _, { reach }) => {
          const decoded = codec.decode(input)
          if (isRight(decoded)) return
          if (at.length > 0) reach('refused inside')
          const paths = faultsOf(decoded.left).map(({ path }) => path)
          const around = showPath(at.slice(0, -1))
          // The middle of a very long path is left out.
          const isNear = paths.some((path) => path.startsWith(around) || path.includes('…'))
          holds(isNear, `${showPath(at)} is wrong, and the faults are at ${JSON.stringify(paths)}`)
        },
      },
    }),
    law({
      id: 'codec/never-throws',
      statement: 'Decoding answers anything, and throws nothing.',
      input: fc.oneof(fc.constantFrom(...Object.keys(odd)), hostileJson),
      situations: refuses,
      check: (name, { reach }) => {
        const input = typeof name === 'string' && Object.hasOwn(odd, name) ? odd[name]?.() : name
        codec.is(input)
        const decoded = codec.decode(input)
        if (isLeft(decoded)) reach('refused')
        holds(isRight(decoded) || decoded.left.length > 0, 'it refuses without an error')
      },
    }),
  ]
  // It is about JSON.
  return laws.filter(({ id }) => given.json !== false || id !== 'codec/encoding-is-stable')
}

import { inspect, isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'

/** The reports of a law during one run of its check. */
export interface Run {
  /** Notes that a situation was reached: each of the law's `situations` must be reached at least once. */
  readonly reach: (situation: string) => void
  /** Adds a line to the trace of this run. A report shows the last ones. */
  readonly log: (line: string) => void
}

export type Drawn<A> = A extends fc.Arbitrary<infer I> ? I : never

export const silent: Run = { reach: () => undefined, log: () => undefined }

/** A statement that holds for every input, as plain data. Check it with `checkLaws` or `registerLaws`. */
export interface Law<In = unknown> {
  /** Stable, such as `sink/one-verdict`. */
  readonly id: string
  /** The promise in one sentence. */
  readonly statement: string
  /** Inputs, as plain JSON data if you can, so that a counterexample is printed and replayed as it is. */
  readonly input: fc.Arbitrary<In>
  /** Throws, or rejects, if the law does not hold for this input. */
  check(input: In, run: Run): void | Promise<void>
  /** Situations that some run must reach, so that the law cannot hold for lack of inputs. */
  readonly situations: ReadonlyArray<string>
}

/** Something with one fault, to see that a law finds it, and to test laws of your own. */
export interface Broken<out Make> {
  /** The id of the law that finds the fault. */
  readonly breaks: string
  /** Makes the broken version. */
  readonly make: Make
}

/** Broken versions by their names. The type comes first, so that each version is checked against it. */
export const brokenVersions =
  <Make>() =>
  <Name extends string>(versions: Readonly<Record<Name, Broken<Make>>>): typeof versions =>
    versions

/**
 * Makes a law of your own. Default of `situations`: none.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { checkLaws, holds, law } from 'headrace/testing/laws'
 *
 * const double = law({
 *   id: 'double/even',
 *   statement: 'Twice a number is even.',
 *   input: fc.integer(),
 *   situations: ['odd'],
 *   check: (n, { reach }) => {
 *     if (n % 2 !== 0) reach('odd')
 *     holds((2 * n) % 2 === 0, `${2 * n} is odd`)
 *   },
 * })
 * const [report] = await checkLaws([double], { seed: 1 })
 * console.log(report?.result, report?.runs) // => kept 100
 */
export const law = <In>(
  given: Omit<Law<In>, 'situations'> & Partial<Pick<Law<In>, 'situations'>>,
): Law<In> => ({ situations: [], ...given })

/** A law about the trace of one run of a world. @inline */
interface TraceLaw<in Trace, in In> {
  readonly statement: string
  readonly check: (trace: Trace, input: In, run: Run) => void | Promise<void>
  readonly situations?: ReadonlyArray<string>
}

/** Laws about the same kind of world: `play` runs one and answers its trace. The ids are `room/name`. */
export const lawsOver = <In, Trace>(
  room: string,
  input: fc.Arbitrary<In>,
  play: (input: In, run: Run) => Trace | Promise<Trace>,
  laws: Readonly<Record<string, TraceLaw<Trace, In>>>,
): ReadonlyArray<Law> =>
  Object.entries(laws).map(([name, { check: judge, ...rest }]) => {
    const check = async (each: In, run: Run) => judge(await play(each, run), each, run)
    return law<In>({ ...rest, id: `${room}/${name}`, input, check })
  })

/** A law as a property, for an `fc.assert` with options of your own. It does not look at `situations`. */
export const propertyOf = <In>(law: Law<In>): fc.IAsyncProperty<[In]> =>
  fc.asyncProperty(law.input, async (each) => law.check(each, silent))

/** Throws an error that shows both values, unless they are deeply equal. For the checks of laws. */
export const same = (actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`expected ${inspect(expected, { depth: 9 })}, found ${inspect(actual, { depth: 9 })}`)
}

/** Throws `what` as an error, unless the fact is true. For the checks of laws. */
export const holds = (fact: boolean, what: string): void => {
  if (!fact) throw new Error(what)
}

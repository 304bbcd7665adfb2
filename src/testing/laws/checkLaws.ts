import * as fc from 'fast-check'
import { createContext, runInContext } from 'node:vm'
import type { Law } from './law.ts'

/** How laws are checked. */
export interface LawOptions {
  /** Inputs for each law. Default: `numRuns` of `fc.configureGlobal`, or 100. */
  readonly runs?: number
  /** Where the inputs begin. Default: `seed` of `fc.configureGlobal`, or chance; the report names it. */
  readonly seed?: number
  /** Checks the law with this id alone. */
  readonly only?: string
  /** With `only`: checks this input alone, as a report printed it. */
  readonly example?: unknown
  /** With `only` and `seed`: goes to the input that a report found there. */
  readonly path?: string
}

/** How the check of one law ended. */
export interface LawReport {
  /** Its id. */
  readonly law: string
  readonly statement: string
  /** `vacuous`: no input broke it, but it had none, or a situation was not reached. */
  readonly result: 'kept' | 'broken' | 'vacuous'
  /** Inputs that were checked. */
  readonly runs: number
  readonly seed: number
  /** In how many runs each situation was reached. */
  readonly reached: Readonly<Record<string, number>>
  /** The smallest input that breaks the law. Undefined unless it is broken. */
  readonly counterexample: unknown
  /** The end of what was logged for that input. */
  readonly trace: ReadonlyArray<string>
  /** All of it as text, with a line that replays it. */
  readonly text: string
}

const TRACE_LINES = 30
/** Milliseconds for the first input. */
const PATIENCE = 3_000

/** Why a generator gives no input, or nothing. A filter that lets nothing through runs for ever; only `vm` can stop that. */
const noInput = ({ input }: Law, seed: number): string | undefined => {
  try {
    const take = (): unknown => fc.sample(input, { seed, numRuns: 1 })
    runInContext('take()', createContext({ take }), { timeout: PATIENCE })
    return undefined
  } catch (error) {
    // It is an error of the other context, so it is no instance of this one's Error.
    return String(error).includes('timed out')
      ? `its generator gave no input within ${String(PATIENCE)} ms: a filter in it lets nothing, or too little, through`
      : `its generator failed: ${String(error)}`
  }
}

/** The input as JSON, or nothing if JSON would change it. */
const jsonOf = (input: unknown): string | undefined => {
  try {
    const text = JSON.stringify(input)
    // Both are cloned, because jest gives its tests prototypes of their own.
    const [read, given] = [JSON.parse(text), input].map((each) => fc.stringify(structuredClone(each)))
    return read === given ? text : undefined
  } catch {
    return undefined
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error && error.message !== '' ? error.message : String(error)

/** Plays the counterexample once more, for its trace. */
const replayed = async (law: Law, input: unknown) => {
  const trace: string[] = []
  try {
    await law.check(input, { reach: () => undefined, log: (line) => void trace.push(line) })
    return { trace, again: false }
  } catch {
    return { trace: trace.slice(-TRACE_LINES), again: true }
  }
}

type Outline = Omit<LawReport, 'text' | 'result' | 'counterexample' | 'trace'>

const vacuous = (outline: Outline, why: string): LawReport => ({
  ...outline,
  result: 'vacuous',
  counterexample: undefined,
  trace: [],
  text: `${outline.law} shows nothing: ${why}\n  law: ${outline.statement}\n  seed: ${String(outline.seed)}`,
})

const broken = async (law: Law, outline: Outline, details: fc.RunDetails<[unknown]>): Promise<LawReport> => {
  const [input] = details.counterexample ?? []
  const { trace, again } = await replayed(law, input)
  const json = jsonOf(input)
  const place = `seed: ${String(outline.seed)}, path: '${details.counterexamplePath ?? ''}'`
  const replay = json === undefined ? place : `example: ${json}`
  const lines = [
    `${law.id} is broken: ${messageOf(details.errorInstance)}`,
    `  law: ${law.statement}`,
    `  input: ${json ?? fc.stringify(input)}`,
    `  found in run ${String(details.numRuns)}, made smaller ${String(details.numShrinks)} times; ${place}`,
    ...(again ? [] : ['  this input did not break it when it was played again: something is left to chance']),
    ...(trace.length === 0 ? [] : ['  the end of its trace:', ...trace.map((line) => `    ${line}`)]),
    `  replay: await checkLaws(laws, { only: '${law.id}', ${replay} })`,
  ]
  return { ...outline, result: 'broken', counterexample: input, trace, text: lines.join('\n') }
}

const parametersOf = ({ runs, seed, path, ...options }: LawOptions): fc.Parameters<[unknown]> => {
  const numRuns = 'example' in options ? 1 : runs
  return {
    ...(numRuns === undefined ? {} : { numRuns }),
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
    ...('example' in options ? { examples: [[options.example]] } : {}),
  }
}

/**
 * Checks one law, and answers how it ended, also if it is broken. Tests of laws use it: a broken sink must break its law.
 *
 * @throws RangeError if `runs` is no whole number above 0.
 */
export const reportOf = async (law: Law, options: LawOptions = {}): Promise<LawReport> => {
  const { runs = 1 } = options
  if (!Number.isInteger(runs) || runs < 1)
    throw new RangeError(`runs: expected a whole number above 0, got ${String(runs)}`)
  const counts = new Map(law.situations.map((each) => [each, 0]))
  const property = fc.asyncProperty(law.input, async (input) => {
    const seen = new Set<string>()
    await law.check(input, { reach: (situation) => void seen.add(situation), log: () => undefined })
    for (const each of seen) counts.set(each, (counts.get(each) ?? 0) + 1)
  })
  const empty = 'example' in options ? undefined : noInput(law, options.seed ?? 0)
  const { id, statement } = law
  if (empty !== undefined)
    return vacuous({ law: id, statement, runs: 0, seed: options.seed ?? 0, reached: {} }, empty)
  const details = await fc.check(property, parametersOf(options))
  const reached = Object.fromEntries(counts)
  const outline = { law: id, statement, runs: details.numRuns, seed: details.seed, reached }
  if (details.failed && details.counterexample !== null) return broken(law, outline, details)
  if (details.failed)
    return vacuous(outline, `its check skipped ${String(details.numSkips)} inputs with fc.pre`)
  const missed = law.situations.filter((each) => counts.get(each) === 0)
  return missed.length === 0 || 'example' in options
    ? { ...outline, result: 'kept', counterexample: undefined, trace: [], text: `${id} is kept` }
    : vacuous(outline, `${String(details.numRuns)} runs never reached: ${missed.join(', ')}`)
}

/** The laws that `only` asks for. */
const asked = (laws: ReadonlyArray<Law>, only: string | undefined): ReadonlyArray<Law> => {
  if (laws.length === 0) throw new RangeError('there are no laws to check')
  const found = only === undefined ? laws : laws.filter(({ id }) => id === only)
  if (found.length > 0) return found
  throw new RangeError(
    `only: no law has the id ${String(only)}; there are ${laws.map(({ id }) => id).join(', ')}`,
  )
}

/**
 * Checks laws one after another. Resolves with a report for each if all are kept, and rejects with an error that holds the text of the
 * others: law, statement, smallest counterexample, seed, the end of its trace, and a line that replays it. A law that had no input, or did
 * not reach its situations, counts as broken.
 *
 * @example
 * import { sink } from 'headrace'
 * import { checkLaws, sinkLaws } from 'headrace/testing/laws'
 *
 * // The status of a Response is its verdict.
 * const laws = sinkLaws(({ network, clock }) =>
 *   sink('mine', async (item, { signal }) => {
 *     const { status, headers } = await network.request({ body: JSON.stringify(item), signal })
 *     return new Response(null, { status, headers })
 *   }, { clock }),
 * )
 * await checkLaws(laws, { runs: 200, seed: 42 })
 */
export const checkLaws = async (
  laws: ReadonlyArray<Law>,
  options: LawOptions = {},
): Promise<ReadonlyArray<LawReport>> => {
  const reports: LawReport[] = []
  for (const each of asked(laws, options.only)) reports.push(await reportOf(each, options))
  const failed = reports.filter(({ result }) => result !== 'kept')
  if (failed.length === 0) return reports
  throw new Error(failed.map(({ text }) => text).join('\n\n'))
}

/** Where tests are registered: the `test` of vitest, jest or node:test. */
export interface TestRunner {
  /** Called once for each law. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
}

/**
 * Registers one test for each law, named by its id and statement.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { memoryOutbox } from 'headrace'
 * import { outboxLaws, registerLaws } from 'headrace/testing/laws'
 *
 * registerLaws({ test }, outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock })))
 * ```
 */
export const registerLaws = (
  { test }: TestRunner,
  laws: ReadonlyArray<Law>,
  options: LawOptions = {},
): void => {
  for (const each of asked(laws, options.only))
    test(`${each.id}: ${each.statement}`, async () => {
      await checkLaws([each], options)
    })
}

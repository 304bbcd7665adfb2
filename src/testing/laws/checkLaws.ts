import * as fc from 'fast-check'
import { createContext, runInContext } from 'node:vm'
import { config } from 'rxjs'
import { right, valueOr } from '../../core/either.ts'
import { systemClock, systemRandom } from '../../core/clock.ts'
import { messageOf } from '../../core/failure.ts'
import { checkOptions, option, optional, strict, text, wholeNumber } from '../../core/options.ts'
import { realImmediate } from '../virtualClock.ts'
import { silent, type Law, type Run } from './law.ts'

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
  /**
   * Milliseconds for each law, which `registerLaws` tells the runner; an input is made smaller for at most
   * half of it. Default: the limit of the runner, and 2,000 to make an input smaller.
   */
  readonly timeout?: number
}

const runOptions = strict({
  runs: optional(wholeNumber('runs', 1)),
  seed: optional(wholeNumber('', -(2 ** 31), 2 ** 32)),
  only: optional(text),
  path: optional(text),
  timeout: optional(wholeNumber('ms', 1)),
  example: optional(option('any value', right)),
})

/** The options with a seed: only with one seed do laws of the same worlds share their runs. */
const seeded = (options: LawOptions): LawOptions => {
  checkOptions('options of laws', runOptions, options)
  const drawn = Math.floor(systemRandom() * 2 ** 32) | 0
  return { seed: fc.readConfigureGlobal().seed ?? drawn, ...options }
}

/** Plays a law once. A rejection that nothing handles is a finding too, where it would end the process. */
const playOnce = async (law: Law, input: unknown, run: Run): Promise<void> => {
  const unhandled: unknown[] = []
  const hear = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', hear)
  try {
    await law.check(input, run)
    // Node tells of rejections before the next turn.
    await new Promise((resolve) => realImmediate(resolve))
  } finally {
    process.off('unhandledRejection', hear)
  }
  if (unhandled.length > 0) throw new Error(`a rejection was not handled: ${messageOf(unhandled[0])}`)
}

const MAX_TURNS = 10_000

/**
 * RxJS throws the error of a stream that nothing handles after a millisecond. Waits without timers, because
 * a test runner may have replaced them, and one turn more: there they run if the process stood still.
 */
const rxjsDelay = async (): Promise<void> => {
  const end = systemClock.monotonic() + 5
  for (let turn = 0, rest = 2; turn < MAX_TURNS && rest > 0; turn++) {
    await new Promise((resolve) => realImmediate(resolve))
    if (systemClock.monotonic() >= end) rest--
  }
}

/** What nothing handles while a task runs: RxJS would throw it, and end the process. */
const unhandledIn = async <T>(task: () => Promise<T>): Promise<readonly [T, ReadonlyArray<unknown>]> => {
  const unhandled: unknown[] = []
  const { onUnhandledError } = config
  config.onUnhandledError = (error) => void unhandled.push(error)
  try {
    const answer = await task()
    await rxjsDelay()
    return [answer, unhandled]
  } finally {
    config.onUnhandledError = onUnhandledError
  }
}

/** How the check of one law ended. */
export interface LawReport {
  readonly law: string
  readonly statement: string
  /** `vacuous`: no input broke it, but it had none, or a situation was not reached. */
  readonly result: 'kept' | 'broken' | 'vacuous'
  /** Inputs that were checked. */
  readonly runs: number
  readonly seed: number
  /** In how many runs each situation was reached. */
  readonly reached: Readonly<Record<string, number>>
  /** The smallest input that breaks the law; undefined unless it is broken. */
  readonly counterexample: unknown
  /** The last 30 lines that were logged for that input. */
  readonly trace: ReadonlyArray<string>
  /** All of it as text, with a line that replays it. */
  readonly text: string
}

/** Why a generator gives no input. A filter may refuse everything for ever; only `vm` can stop that. */
const noInput = ({ input }: Law, seed: number): string | undefined => {
  try {
    const take = (): unknown => fc.sample(input, { seed, numRuns: 1 })
    runInContext('take()', createContext({ take }), { timeout: 3_000 })
    return undefined
  } catch (error) {
    // It is an error of the other context, so it is no instance of this one's Error.
    return String(error).includes('timed out')
      ? `its generator gave no input within 3,000 ms: a filter in it lets nothing, or too little, through`
      : `its generator failed: ${String(error)}`
  }
}

/** The input as JSON; undefined if JSON would change it. */
const jsonOf = (input: unknown): string | undefined => {
  // A clone, because jest gives its tests prototypes of their own.
  const shown = (value: unknown): string => fc.stringify(structuredClone(value))
  return valueOr(undefined, () => {
    const text = JSON.stringify(input)
    return shown(JSON.parse(text)) === shown(input) ? text : undefined
  })
}

/** The report of a broken law. The counterexample is played once more, for its trace. */
const brokenReport = async (law: Law, details: fc.RunDetails<unknown[]>) => {
  const [input] = details.counterexample ?? []
  const logged: string[] = []
  const run = { ...silent, log: (line: string) => void logged.push(line) }
  const property = fc.asyncProperty(fc.constant(input), async (each) => playOnce(law, each, run))
  const again = await fc.check(property, { numRuns: 1 })
  const trace = logged.slice(-30)
  const json = jsonOf(input)
  const place = `seed: ${String(details.seed)}, path: '${details.counterexamplePath ?? ''}'`
  const replayed = json === undefined ? place : `example: ${json}`
  const error = details.errorInstance
  const lines = [
    `${law.id} is broken: ${error instanceof Error && error.message !== '' ? error.message : String(error)}`,
    `  law: ${law.statement}`,
    `  input: ${json ?? fc.stringify(input)}`,
    `  found in run ${String(details.numRuns)}, made smaller ${String(details.numShrinks)} times; ${place}`,
    again.failed
      ? ['  the end of its trace:', ...trace].join('\n    ')
      : '  this input did not break it when it was played again: something is left to chance',
    `  replay: await checkLaws(laws, { only: '${law.id}', ${replayed} })`,
  ]
  return { result: 'broken', counterexample: input, trace, text: lines.join('\n') } as const
}

const checkLaw = async (law: Law, options: LawOptions): Promise<LawReport> => {
  const { runs, seed, path, timeout = 4_000 } = options
  let brokenAt = Infinity
  const reached = Object.fromEntries(law.situations.map((each) => [each, 0]))
  const property = fc.asyncProperty(law.input, async (input) => {
    // Without a failure nothing is made smaller any more.
    if (systemClock.monotonic() - brokenAt > timeout / 2) return
    const seen = new Set<string>()
    try {
      await playOnce(law, input, { ...silent, reach: (situation) => void seen.add(situation) })
    } catch (error) {
      brokenAt = Math.min(brokenAt, systemClock.monotonic())
      throw error
    }
    for (const each of seen) reached[each] = (reached[each] ?? 0) + 1
  })
  const isOne = 'example' in options
  const lack = isOne ? undefined : noInput(law, seed ?? 0)
  const details = await fc.check(property, {
    ...(runs !== undefined && { numRuns: runs }),
    ...(seed !== undefined && { seed }),
    ...(path !== undefined && { path }),
    ...(isOne && { numRuns: 1, examples: [[options.example]] }),
    ...(lack !== undefined && { numRuns: 0 }),
  })
  const counts = { law: law.id, statement: law.statement, runs: details.numRuns, seed: details.seed, reached }
  if (details.failed && details.counterexample !== null)
    return { ...counts, ...(await brokenReport(law, details)) }

  const missed = law.situations.filter((each) => !isOne && path === undefined && reached[each] === 0)
  const why =
    lack ??
    (details.failed
      ? `its check skipped ${String(details.numSkips)} inputs with fc.pre`
      : missed.length > 0 && `${String(details.numRuns)} runs never reached: ${missed.join(', ')}`)
  const end = { counterexample: undefined, trace: [] }
  if (why === false) return { ...counts, ...end, result: 'kept', text: `${law.id} is kept` }
  const text = `${law.id} shows nothing: ${why}\n  law: ${law.statement}\n  seed: ${String(details.seed)}`
  return { ...counts, ...end, result: 'vacuous', text }
}

/** One at a time: an error that nothing handles is heard by the process. So a law cannot check laws. */
let lastCheck: Promise<unknown> = Promise.resolve()

/**
 * Checks one law, and answers how it ended, also if it is broken: tests of laws use it.
 *
 * @throws ConfigError (rejects) if an option is wrong
 */
export const reportOf = async (law: Law, options: LawOptions = {}): Promise<LawReport> => {
  const all = seeded(options)
  const turn = lastCheck.then(() => unhandledIn(() => checkLaw(law, all)))
  lastCheck = Promise.allSettled([turn])
  const [report, unhandled] = await turn
  if (unhandled.length === 0 || report.result === 'broken') return report
  const error = `${messageOf(unhandled[0])}: is there a subscribe without an error handler?`
  const text = `${law.id} is broken: an error of a stream was not handled: ${error}`
  return { ...report, result: 'broken', text }
}

const asked = (laws: ReadonlyArray<Law>, only: string | undefined): ReadonlyArray<Law> => {
  if (laws.length === 0) throw new RangeError('there are no laws to check')
  const found = only === undefined ? laws : laws.filter(({ id }) => id === only)
  if (found.length > 0) return found
  const ids = laws.map(({ id }) => id).join(', ')
  throw new RangeError(`only: no law has the id ${String(only)}; there are ${ids}`)
}

/**
 * Checks laws one after another. Resolves with a report for each if all are kept, and rejects with an error
 * that holds the text of the others. A law that had no input, or did not reach its situations, counts as
 * broken.
 *
 * @example
 * import { memory } from 'headrace/sinks/memory'
 * import { checkLaws, sinkLaws } from 'headrace/testing/laws'
 *
 * await checkLaws(sinkLaws(() => memory(), { answers: false }), { runs: 200, seed: 42 })
 */
export const checkLaws = async (
  laws: ReadonlyArray<Law>,
  options: LawOptions = {},
): Promise<ReadonlyArray<LawReport>> => {
  const reports: LawReport[] = []
  const all = seeded(options)
  for (const each of asked(laws, options.only)) reports.push(await reportOf(each, all))
  const failed = reports.filter(({ result }) => result !== 'kept')
  if (failed.length === 0) return reports
  const first = new Map<string, string>()
  const texts = failed.map(({ law, result, counterexample, text }) => {
    const key = result === 'broken' ? fc.stringify(counterexample) : law
    const other = first.get(key)
    if (other === undefined) first.set(key, law)
    // One cause is often told by several laws.
    return other === undefined ? text : `${text.split('\n', 1).join()}\n  with the input of ${other}`
  })
  throw new Error(texts.join('\n\n'))
}

/** Where tests are registered. */
export interface TestRunner {
  /** The `test` of vitest, jest or node:test, called once for each law. */
  readonly test: (name: string, run: () => Promise<void>, timeout?: number) => unknown
}

/** The `test` of node:test takes options second, and is known by its mocks. */
type NodeTest = (name: string, options: { readonly timeout: number }, run: () => Promise<void>) => unknown
const isNodeTest = (test: unknown): test is NodeTest =>
  typeof test === 'function' && 'mock' in test && !('each' in test)

/** Registers a test for each law, named by its id and statement: `registerLaws({ test }, sinkLaws(make))`. */
export const registerLaws = (to: TestRunner, laws: ReadonlyArray<Law>, options: LawOptions = {}): void => {
  checkOptions('options of laws', runOptions, options)
  if (typeof to.test !== 'function') throw new TypeError('give { test }: registerLaws({ test }, laws)')
  const { timeout } = options
  // Drawn when the first test runs, for all: a set-up file may give a seed after the registration.
  let all: LawOptions | undefined
  for (const each of asked(laws, options.only)) {
    const name = `${each.id}: ${each.statement}`
    const run = async (): Promise<void> => {
      all ??= seeded(options)
      await checkLaws([each], all)
    }
    if (timeout === undefined) to.test(name, run)
    else if (isNodeTest(to.test)) to.test(name, { timeout }, run)
    else to.test(name, run, timeout)
  }
}

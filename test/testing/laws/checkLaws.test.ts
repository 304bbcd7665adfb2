import * as fc from 'fast-check'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { config } from 'rxjs'
import { describe, expect, it, vi } from 'vitest'
import { checkLaws, holds, law, lawsOver, propertyOf, registerLaws } from '../../../src/testing/laws/index.ts'
import { reportOf, type Law, type LawOptions } from '../../../src/testing/laws/index.ts'
import { throwing, turns } from '../../support/check.ts'
import { profile } from '../../support/runs.ts'

const lessThan = (limit: number, change: Partial<Law<number>> = {}): Law =>
  law({
    id: 'number/small',
    statement: 'A number is small.',
    input: fc.nat({ max: 1_000 }),
    check: (n, { log }) => {
      log(`looked at ${n}`)
      holds(n < limit, `${n} is not below ${limit}`)
    },
    ...change,
  })

const isVacuous = async (change: Partial<Law<number>>, runs: number, text: RegExp): Promise<void> => {
  const report = await reportOf(lessThan(2_000, change), { runs: 20 })
  expect(report).toMatchObject({ result: 'vacuous', runs, text: expect.stringMatching(text) })
}

const thrower = fc.nat().map(throwing('planted'))

describe('a law', () => {
  it('that holds is kept, with its runs and situations counted', async () => {
    const even = lessThan(2_000, {
      situations: ['even'],
      check: (n, { reach }) => {
        if (n % 2 === 0) reach('even')
      },
    })
    const report = await reportOf(even, { runs: 50, seed: 3 })
    expect(report).toMatchObject({ result: 'kept', runs: 50, seed: 3, law: 'number/small' })
    expect(report.reached['even']).toBeGreaterThan(5)
  })

  it('that is broken tells the smallest input, the trace, and a line that replays it', async () => {
    const report = await reportOf(lessThan(100), { seed: 7 })
    expect(report).toMatchObject({ result: 'broken', counterexample: 100, trace: ['looked at 100'] })
    expect(report.text).toContain('number/small is broken: 100 is not below 100\n  law: A number is small.')
    expect(report.text).toContain("replay: await checkLaws(laws, { only: 'number/small', example: 100 })")
    expect(await reportOf(lessThan(100), { seed: 7 })).toEqual(report)
    const again = await reportOf(lessThan(100), { only: 'number/small', example: 100 })
    expect(again).toMatchObject({ result: 'broken', counterexample: 100, runs: 1 })
    expect((await reportOf(lessThan(101), { only: 'number/small', example: 100 })).result).toBe('kept')
  })

  it('whose input is no JSON is replayed by seed and path', async () => {
    let isMended = false
    const asDate = law({
      id: 'number/small',
      statement: 'There is no date.',
      input: fc.date({ noInvalidDate: true }),
      situations: ['before 1970'],
      check: (date, { reach }) => {
        if (date.getTime() < 0) reach('before 1970')
        holds(isMended, `no ${String(date)}`)
      },
    })
    const { text, seed } = await reportOf(asDate, { seed: 7 })
    const path = /path: '([\d:]+)' }\)/.exec(text)?.[1] ?? ''
    const again = await reportOf(asDate, { only: 'number/small', seed, path })
    expect([again.result, again.runs]).toEqual(['broken', 1])
    isMended = true
    expect((await reportOf(asDate, { only: 'number/small', seed, path, runs: 1 })).result).toBe('kept')
  })

  it('that is broken by chance alone says so', async () => {
    let runs = 0
    const { text } = await reportOf(lessThan(0, { check: () => holds(++runs !== 1, 'the first run') }))
    expect(text).toContain('something is left to chance')
  })

  it.each<readonly [string, Partial<Law<number>>, number, RegExp]>([
    ['reaches no situation', { situations: ['a', 'b'] }, 20, /small shows nothing: 20 runs never .*: a, b/],
    ['skips every input', { check: () => fc.pre(false) }, 0, /skipped \d+ inputs with fc\.pre/],
    ['has a generator that throws', { input: thrower }, 0, /its generator failed: Error: planted/],
  ])('that %s is vacuous', (_, change, runs, text) => isVacuous(change, runs, text))

  // It is given 3 s to find an input.
  if (profile !== 'short')
    it('that filters all inputs away is vacuous', () =>
      isVacuous({ input: fc.nat().filter(() => false) }, 0, /lets nothing, or too little/))

  it('is a property of fast-check', async () => {
    await fc.assert(propertyOf(lessThan(2_000)))
    await expect(fc.assert(propertyOf(lessThan(5)))).rejects.toThrow('Counterexample: [5]')
  })
})

it.each<readonly [ReadonlyArray<Law>, LawOptions, string]>([
  [[lessThan(2_000), lessThan(100)], { seed: 7 }, '100 is not below 100'],
  ...[0, -1, 0.5, NaN].map((runs) => [[lessThan(1)], { runs }, 'runs must be a whole number'] as const),
  [[], {}, 'there are no laws to check'],
  [[lessThan(1)], { only: 'number/smal' }, 'only: no law has the id number/smal; there are number/small'],
])('checkLaws rejects with the text of what is broken, or wrong: %#', (laws, options, fault) =>
  expect(checkLaws(laws, options)).rejects.toThrow(fault),
)

it('laws over a world play it for each', async () => {
  const laws = lawsOver('counter', fc.nat({ max: 9 }), (n) => Array.from({ length: n }, (_, at) => at), {
    'has-all': { statement: 'It has all.', check: (trace, n) => holds(trace.length === n, 'too few') },
    'has-few': { statement: 'It has few.', check: (trace) => holds(trace.length < 5, 'too many') },
  })
  expect(await checkLaws(laws, { only: 'counter/has-all' })).toMatchObject([{ result: 'kept' }])
  const broken = laws.filter(({ id }) => id === 'counter/has-few').map((each) => reportOf(each))
  expect(await Promise.all(broken)).toMatchObject([{ result: 'broken', counterexample: 5 }])
})

it('laws that are checked at the same time hear their own errors only', async () => {
  const before = config.onUnhandledError
  const bad = lessThan(0, { check: () => void Promise.reject(new Error('planted')) })
  const slow = lessThan(0, { check: () => turns(20) })
  const reports = await Promise.all([slow, bad, slow].map((each) => reportOf(each, { runs: 3 })))
  expect(reports.map(({ result }) => result)).toEqual(['kept', 'broken', 'kept'])
  expect(config.onUnhandledError).toBe(before)
})

it('checkLaws tells an input once', async () => {
  const checked = checkLaws([lessThan(100), lessThan(100, { id: 'number/other' })], { seed: 7 })
  const words = 'number/other is broken: 100 is not below 100\n  with the input of number/small'
  await expect(checked).rejects.toThrow(words)
})

it('the laws of one registration share a seed, and the limit of the runner', async () => {
  const seeds = new Set<number>()
  const noting = law({
    id: 'number/noted',
    statement: 'A number is noted.',
    input: fc.noBias(fc.nat()),
    check: (n) => void seeds.add(n),
  })
  const tests: Array<readonly [name: string, run: () => Promise<void>, timeout?: number]> = []
  const test = (...given: (typeof tests)[number]): void => void tests.push(given)
  const { seed, ...others } = fc.readConfigureGlobal()
  fc.configureGlobal(others)
  try {
    registerLaws({ test }, [noting, noting, noting], { runs: 3, timeout: 60_000 })
    for (const [, run] of tests) await run()
  } finally {
    fc.configureGlobal({ ...others, ...(seed !== undefined && { seed }) })
  }
  expect(seeds.size).toBe(3)
  const registered = ['number/noted: A number is noted.', expect.any(Function), 60_000]
  expect(tests).toEqual([registered, registered, registered])
  const nodeTest = vi.fn()
  registerLaws({ test: nodeTest }, [lessThan(3)], { timeout: 5 })
  expect(nodeTest).toHaveBeenCalledWith(expect.any(String), { timeout: 5 }, expect.any(Function))
  registerLaws({ test }, [lessThan(3)])
  await expect(tests[3]?.[1]()).rejects.toThrow('3 is not below 3')
})

it('stops to make an input smaller when half of its time is over, and tells the finding', async () => {
  let tries = 0
  const slow = law({
    id: 'number/slow',
    statement: 'It is slow.',
    input: fc.array(fc.nat(), { minLength: 500, maxLength: 1_000, size: 'max' }),
    check: async (all) => {
      tries++
      await new Promise((resolve) => setTimeout(resolve, 5))
      holds(all.length < 500, 'too long')
    },
  })
  expect(await reportOf(slow, { seed: 1, timeout: 200 })).toMatchObject({ result: 'broken', runs: 1 })
  // 100 ms have at most 20 of them, and fewer on a busy machine.
  expect(tries).toBeLessThan(30)
})

it.each([
  ['rejection', "Promise.reject(new Error('lost'))", 'a rejection was not handled: lost'],
  ['stream error', "throwError(() => 'lost').subscribe()", 'an error of a stream was not handled: lost: is'],
])('a %s that nothing handles is a finding, in a script without a runner', async (_, fault, text) => {
  const script = `
    import { throwError } from 'rxjs'
    import * as fc from 'fast-check'
    import { law, reportOf } from './dist/testing/laws/index.js'
    const now = performance.now.bind(performance)
    // The process stands still at each look at the clock.
    performance.now = () => { for (const end = now() + 9; now() < end; ); return now() }
    const eager = law({ id: 'a/b', statement: 'c', input: fc.nat(), check: () => void ${fault} })
    console.log((await reportOf(eager, { seed: 1, runs: 1 })).text)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  expect(stdout).toContain(`a/b is broken: ${text}`)
})

import * as fc from 'fast-check'
import { checkOptions, list, strict, text, wholeNumber, withDefault } from '../../core/options.ts'
import { healthy, type Misbehaviour, type FaultScript } from '../faults.ts'

/** The parts of fault scripts. */
export interface FaultScriptOptions {
  /** The limit in ms that delays surround: 0 to twice it, and one less, equal, one more. Default 5,000. */
  readonly timeout?: number
  /** The most faults in a script. Default 8. */
  readonly maxSteps?: number
  /** Kinds that are left out, such as those that a receiver cannot play. Default: none. */
  readonly without?: ReadonlyArray<Misbehaviour['do']>
}

const pick = <const A>(...values: ReadonlyArray<A>): fc.Arbitrary<A> => fc.constantFrom(...values)

const refusals = [400, 401, 403, 404, 408, 409, 410, 413, 425, 429, 429, 499]
const usual = pick(500, 502, 503, 504)
const serverErrors = fc.oneof({ withCrossShrink: true }, usual, fc.integer({ min: 500, max: 599 }))
const answerCode = (...successes: ReadonlyArray<number>): fc.Arbitrary<number> =>
  fc.oneof({ withCrossShrink: true }, pick(...successes), pick(...refusals), serverErrors)
const [code, anyCode] = [answerCode(200, 201, 299, 301), answerCode(200, 201, 204, 299, 301, 304)]
// A virtual clock starts in 2026.
const dates = [10_000, 3_600_000, -86_400_000].map((ms) => new Date(Date.UTC(2026, 0, 1) + ms).toUTCString())
const headers = pick('0', '2', '3600', 'soon', ...dates).map((text) => ({ 'Retry-After': text }))
const onlyDo: { requiredKeys: ['do'] } = { requiredKeys: ['do'] }

type Kinds = { readonly [D in Misbehaviour['do']]: fc.Arbitrary<Extract<Misbehaviour, { do: D }>> }

const faultKinds = (after: fc.Arbitrary<number>): Kinds => ({
  status: fc.record({ do: pick('status'), code: anyCode, after, headers }, { requiredKeys: ['do', 'code'] }),
  interim: fc.record({ do: pick('interim'), codes: pick([103], [102, 100], []), code, after }, onlyDo),
  silence: pick({ do: 'silence' }),
  reset: fc.record({ do: pick('reset'), after }, onlyDo),
  hangUp: pick({ do: 'hangUp' }),
  refuse: pick({ do: 'refuse' }, { do: 'refuse', lasting: 1 }, { do: 'refuse', lasting: 100 }),
  dns: pick({ do: 'dns' }),
  tls: fc.record({ do: pick('tls'), kind: pick('selfSigned', 'unknownCa', 'wrongName', 'expired') }),
  headersOnly: fc.record({ do: pick('headersOnly'), code }),
  slowBody: fc.record({ do: pick('slowBody'), code, bytesPerSecond: pick(1_000, 100) }),
  truncate: fc.record({ do: pick('truncate'), code, at: fc.nat(999) }),
  // Our sinks read 16,384 bytes of an answer, and drop the connection of a longer one.
  hugeBody: fc.record({ do: pick('hugeBody'), code, bytes: pick(16_384, 16_385, 1_000_000_000) }),
  gzipBomb: fc.record({ do: pick('gzipBomb'), code }),
  hugeHeader: pick({ do: 'hugeHeader' }, { do: 'hugeHeader', bytes: 1_000 }),
  garbage: pick({ do: 'garbage' }),
  redirect: fc.record({ do: pick('redirect'), to: pick('self', 'other'), code: pick(307, 301, 302, 308) }),
})

const scriptOptions = strict({
  timeout: withDefault(wholeNumber('ms', 0), 5_000),
  maxSteps: withDefault(wholeNumber('faults', 0), 8),
  without: withDefault(list('kinds', 0, Infinity, text), []),
})

/**
 * Fault scripts for `scriptedSink`, `scriptedNetwork` and `loopbackReceiver`. They shrink towards the empty
 * script, and each fault towards a status of 200 at once, so the rest of a script breaks the law.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { faultScript } from 'headrace/testing/laws'
 *
 * const scripts = faultScript({ timeout: 250, without: ['tls', 'dns'] })
 * console.log(fc.sample(scripts, { numRuns: 3, seed: 1 }).length) // => 3
 */
export const faultScript = (options: FaultScriptOptions = {}): fc.Arbitrary<FaultScript> => {
  const { timeout, maxSteps, without } = checkOptions('options of faultScript', scriptOptions, options)
  const around = fc.integer({ min: Math.max(0, timeout - 1), max: timeout + 1 })
  const after = fc.oneof({ withCrossShrink: true }, fc.constant(0), around, around, fc.nat(2 * timeout))
  const faults = Object.entries(faultKinds(after)).flatMap(([kind, arbitrary]) =>
    without.some((each) => each === kind) ? [] : [{ weight: kind === 'status' ? 6 : 1, arbitrary }],
  )
  const fault = fc.oneof({ withCrossShrink: true }, fc.constant(healthy), ...faults)
  return fc.array(fault, { maxLength: maxSteps, size: 'max' })
}

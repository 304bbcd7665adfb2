import * as fc from 'fast-check'
import { healthy } from '../faults.ts'
import type { Fault, FaultScript } from '../faults.ts'

/** What fault scripts are made of. */
export interface FaultScriptOptions {
  /** The time limit, in milliseconds, that delays stand around: 0, up to twice the limit, and one less, equal and one more. Default 5,000. */
  readonly timeout?: number
  /** Faults in a script. Default 8. */
  readonly maxSteps?: number
  /** Kinds that are left out, such as those that a receiver cannot play. Default: none. */
  readonly without?: ReadonlyArray<Fault['do']>
}

const codes = fc.constantFrom(200, 201, 299, 301, 400, 404, 408, 410, 413, 425, 429, 499, 500, 503, 599)
const retryAfter = fc.constantFrom('0', '2', '9999999', 'soon').map((text) => ({ 'Retry-After': text }))
const only = <D extends Fault['do']>(kind: D): fc.Arbitrary<D> => fc.constant(kind)

/** One arbitrary for each kind of fault. */
const kinds = (
  after: fc.Arbitrary<number>,
): { readonly [D in Fault['do']]: fc.Arbitrary<Extract<Fault, { do: D }>> } => ({
  status: fc.record(
    { do: only('status'), code: codes, after, headers: retryAfter },
    { requiredKeys: ['do', 'code'] },
  ),
  interim: fc.record(
    {
      do: only('interim'),
      codes: fc.array(fc.constantFrom(103 as const, 102 as const, 100 as const), { maxLength: 3 }),
      code: codes,
      after,
    },
    { requiredKeys: ['do'] },
  ),
  silence: fc.record({ do: only('silence') }),
  reset: fc.record({ do: only('reset'), after }, { requiredKeys: ['do'] }),
  hangUp: fc.record({ do: only('hangUp') }),
  refuse: fc.record(
    { do: only('refuse'), lasting: fc.integer({ min: 1, max: 100 }) },
    { requiredKeys: ['do'] },
  ),
  dns: fc.record({ do: only('dns') }),
  tls: fc.record({
    do: only('tls'),
    kind: fc.constantFrom(
      'selfSigned' as const,
      'unknownCa' as const,
      'wrongName' as const,
      'expired' as const,
    ),
  }),
  headersOnly: fc.record({ do: only('headersOnly'), code: codes }),
  slowBody: fc.record({ do: only('slowBody'), code: codes, bytesPerSecond: fc.constantFrom(1_000, 100) }),
  truncate: fc.record({ do: only('truncate'), code: codes, at: fc.nat(999) }),
  // Our sinks read 16,384 bytes of an answer, and drop the connection of a longer one.
  hugeBody: fc.record({
    do: only('hugeBody'),
    code: codes,
    bytes: fc.constantFrom(16_384, 16_385, 1_000_000_000),
  }),
  gzipBomb: fc.record({ do: only('gzipBomb'), code: codes }),
  hugeHeader: fc.record(
    { do: only('hugeHeader'), bytes: fc.constantFrom(1_000, 100_000) },
    { requiredKeys: ['do'] },
  ),
  garbage: fc.record({ do: only('garbage') }),
  redirect: fc.record({
    do: only('redirect'),
    to: fc.constantFrom('self' as const, 'other' as const),
    code: fc.constantFrom(307, 301, 302, 308),
  }),
})

/**
 * Fault scripts for `scriptedSink`, `scriptedNetwork` and `loopbackReceiver`. They shrink towards the empty script, and each fault towards
 * a status of 200 at once, so what is left of a script is what breaks the law.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { faultScript } from 'headrace/testing/laws'
 *
 * const scripts = faultScript({ timeout: 250, without: ['tls', 'dns'] })
 * console.log(fc.sample(scripts, { numRuns: 3, seed: 1 }).length) // => 3
 */
export const faultScript = (options: FaultScriptOptions = {}): fc.Arbitrary<FaultScript> => {
  const { timeout = 5_000, maxSteps = 8, without = [] } = options
  const around = fc.integer({ min: Math.max(0, timeout - 1), max: timeout + 1 })
  const after = fc.oneof({ withCrossShrink: true }, fc.constant(0), around, around, fc.nat(2 * timeout))
  const faults = Object.entries(kinds(after)).flatMap(([kind, arbitrary]) =>
    without.some((each) => each === kind) ? [] : [{ weight: kind === 'status' ? 4 : 1, arbitrary }],
  )
  const fault: fc.Arbitrary<Fault> = fc.oneof({ withCrossShrink: true }, fc.constant(healthy), ...faults)
  return fc.array(fault, { maxLength: maxSteps, size: 'max' })
}

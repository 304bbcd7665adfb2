import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventCodec } from '../../src/event/event.ts'
import { callOf } from '../../src/event/call.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { WebhookBody, toWebhookBody } from '../../src/event/webhookBody.ts'
import { eventLaws, NEW_ID, NOW } from '../laws/event.ts'
import type { Road, Taken } from '../laws/event.ts'
import { eventMutants } from '../mutants/event.ts'
import * as arbitrary from '../arbitraries/event.ts'
import { anyCall } from '../arbitraries/call.ts'
import { faulty } from '../arbitraries/faultyCall.ts'
import type * as t from 'io-ts'

const taking =
  <A>(codec: t.Type<A, unknown>) =>
  (input: unknown): Taken<A> => {
    const decoded = codec.decode(input)
    return decoded._tag === 'Right' ? { event: decoded.right } : { faults: faultsOf(decoded.left) }
  }

const options = { clock: { now: () => NOW }, newId: () => NEW_ID }

const road: Road = {
  take: taking(eventCodec(options)),
  callOf,
  toBody: toWebhookBody,
  fromBody: taking(WebhookBody),
  write: (body) => JSON.stringify(body),
}

describe('the laws of events', () => {
  it.each(eventLaws(road).map((law) => [law.id, law] as const))('%s', (_, law) => {
    law.check()
  })

  // Owned input is not copied, so what the caller changes afterwards is the caller's affair.
  const owned = { ...road, take: taking(eventCodec({ ...options, owned: true })) }
  it.each(
    eventLaws(owned)
      .filter(({ id }) => !id.startsWith('EV8'))
      .map((law) => [law.id, law] as const),
  )('for owned input: %s', (_, law) => {
    law.check()
  })
})

describe('the laws kill', () => {
  it.each(Object.entries(eventMutants))('%s', (_, mutant) => {
    expect(eventLaws(mutant(road)).some((law) => law.fails())).toBe(true)
  })
})

describe('the generators reach what they are for', () => {
  const share = <A>(values: fc.Arbitrary<A>, has: (value: A) => boolean): number =>
    fc.sample(values, { numRuns: 1_000, seed: 1 }).filter(has).length / 1_000

  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

  it('all seven kinds, each often', () => {
    for (const type of Object.keys(arbitrary.events)) {
      expect(share(arbitrary.event, (event) => event.type === type)).toBeGreaterThan(0.08)
    }
  })

  it('the deepest nesting, lone surrogates, keys that are indexes, only one id', () => {
    expect(share(arbitrary.event, (event) => depthOf(event) === 256)).toBeGreaterThan(0.02)
    expect(share(arbitrary.event, (event) => /\\ud[89a-f]/.test(JSON.stringify(event)))).toBeGreaterThan(0.1)
    expect(share(arbitrary.event, (event) => /[{,]"\d+":/.test(JSON.stringify(event)))).toBeGreaterThan(0.1)
    expect(share(arbitrary.event, (event) => !('userId' in event))).toBeGreaterThan(0.1)
    expect(
      share(arbitrary.event, (event) => 'messageId' in event && event.messageId.length === 256),
    ).toBeGreaterThan(0.1)
  })

  it('traits that would overwrite, several faults at once', () => {
    expect(share(anyCall, ({ call }) => call['type'] === 'page' && 'traits' in call)).toBeGreaterThan(0.1)
    expect(share(faulty, ({ paths }) => paths.length > 2)).toBeGreaterThan(0.2)
  })
})

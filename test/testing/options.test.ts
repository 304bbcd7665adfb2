/** A misspelt option or fault is told where it is given. */
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { expect, it } from 'vitest'
import { eventCodec } from '../../src/event/index.ts'
import { toLogger } from '../../src/log/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { standard } from '../../src/policy/index.ts'
import { verifyRequest } from '../../src/signing/request.ts'
import { loopbackReceiver, makeWorld, scriptedDisk, scriptedNetwork } from '../../src/testing/index.ts'
import { scriptedSink, simulate, virtualClock } from '../../src/testing/index.ts'
import { arbitraryFor, codecLaws, faultScript, law, layerLaws } from '../../src/testing/laws/index.ts'
import { outboxLaws, pipelineLaws, policyLaws, reportOf, sinkLaws } from '../../src/testing/laws/index.ts'
import { networkSink } from '../../src/testing/laws/sinkWorld.ts'

const untyped = (value: unknown): never => value as never
const clock = virtualClock()
const ok = { do: 'status', code: 200 }
const slow = { do: 'slowBody', code: 200 }
const small = law({ id: 'a/b', statement: 'c', input: fc.nat(), check: () => undefined })
const wrong: ReadonlyArray<readonly [string, () => unknown]> = [
  ['unknown option "most"', () => virtualClock(untyped({ most: 5 }))],
  ['unknown option "sed"', () => virtualClock(untyped({ sed: 1 }))],
  ['maxTimers must be', () => virtualClock({ maxTimers: 0 })],
  ['unknown option "tsl"', () => loopbackReceiver([], untyped({ tsl: true }))],
  ['tls must be a certificate', () => loopbackReceiver([], untyped({ tls: true }))],
  ['[0].do must be one of status, interim', () => loopbackReceiver(untyped([{ do: 'stauts', code: 503 }]))],
  ['[0].headers must be names and', () => loopbackReceiver(untyped([{ ...ok, headers: { 'a b': 'x' } }]))],
  ['must be a finite number', () => loopbackReceiver(untyped([{ ...slow, bytesPerSecond: Infinity }]))],
  ['[0].code is missing', () => loopbackReceiver(untyped([{ do: 'status' }]))],
  ['option "script[0].codes"', () => scriptedSink({ clock, script: untyped([{ ...ok, codes: 1 }]) })],
  ['script[0].do must be one of', () => scriptedSink({ clock, script: untyped([{ do: 'stauts' }]) })],
  ['unknown option "repyl"', () => scriptedSink(untyped({ clock, repyl: 1 }))],
  ['script[1].code is missing', () => scriptedNetwork({ clock, script: untyped([ok, { do: 'status' }]) })],
  ['faults[0] must be { do', () => scriptedDisk({ clock, faults: untyped([{ do: 'fial' }]) })],
  ['unknown option "netwrok"', () => makeWorld(1, untyped({ netwrok: [] }))],
  ['unknown option "diskFault"', () => simulate(1, () => Promise.resolve(), untyped({ diskFault: [] }))],
  ['unknown option "answer"', () => sinkLaws(networkSink, untyped({ answer: false }))],
  ['unknown option "answer"', () => layerLaws(() => (sink) => sink, untyped({ answer: false }))],
  ['unknown option "keyof"', () => pipelineLaws(() => untyped(0), untyped({ keyof: String }))],
  ['unknown option "crahs"', () => outboxLaws(() => memoryOutbox(), untyped({ crahs: 1 }))],
  ['a policy promises no witin', () => policyLaws(() => standard, untyped({ witin: 1 }))],
  ['unknown option "run"', () => reportOf(small, untyped({ run: 5 }))],
  ['unknown option "override"', () => arbitraryFor(t.string, untyped({ override: [] }))],
  ['unknown option "override"', () => codecLaws(t.string, untyped({ override: [] }))],
  ['unknown option "withot"', () => faultScript(untyped({ withot: [] }))],
  ['unknown option "max"', () => verifyRequest('s', new Request('http://a.test/'), untyped({ max: 5 }))],
  ['unknown option "newID"', () => eventCodec(untyped({ newID: String }))],
  ['unknown option "quite"', () => toLogger(console, untyped({ quite: 5 }))],
]

it.each(wrong)('%s', (message, call) => expect(async () => call()).rejects.toThrow(message))

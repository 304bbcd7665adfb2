import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { onlyAttempt, type Sink, type Verdict, type Payload } from '../../src/index.ts'
import { webhook } from '../../src/http/webhook.ts'
import { healthy, loopbackReceiver, scriptedSink, virtualClock } from '../../src/testing/index.ts'
import type { FaultScript, Receiver, Misbehaviour } from '../../src/testing/index.ts'
import { faultScript } from '../../src/testing/laws/faultScript.ts'
import { deliverOnce } from '../sink/deliverOnce.ts'
import { batch, openSockets, until } from '../support/http.ts'
import { runs } from '../support/runs.ts'

/** What a scripted sink in memory shows of a fault, and whether its answer stalls so that only a time limit ends it. */
interface Expected {
  readonly verdict: Verdict | undefined
  readonly stalls: 'never' | 'before headers' | 'after headers'
}

const expected = (fault: Misbehaviour, name = 'scripted'): Expected => {
  const clock = virtualClock()
  const sink = scriptedSink<unknown>({ name, clock, script: [fault] })
  let verdict: Verdict | undefined
  sink.deliver('', onlyAttempt).subscribe((value) => (verdict = value))
  clock.tick(1_000)
  if (sink.calls[0]?.ended === 'completed') return { verdict, stalls: 'never' }
  return { verdict, stalls: verdict === undefined ? 'before headers' : 'after headers' }
}

/** Refusals and certificates are faults of a connection, and no server has a name that does not exist. */
const script = faultScript({ timeout: 2, maxSteps: 3, without: ['refuse', 'tls', 'dns'] })

/** A verdict with its earliest next attempt in whole seconds: the receiver's delays pass in real time. */
const shown = (verdict: Verdict): unknown => {
  const text = JSON.stringify(verdict, (key, value: unknown) =>
    key === 'notBefore' ? Math.floor(Number(value) / 1_000) : value,
  )
  return JSON.parse(text)
}

let receiver: Receiver
const scripts = new Map<string, Misbehaviour[]>()
let paths = 0

beforeAll(async () => {
  receiver = await loopbackReceiver(({ path }) => scripts.get(path)?.shift() ?? healthy)
})
afterAll(async () => {
  await receiver.close()
  await until(() => openSockets() === 0)
})

type Deliver = (sink: Sink<Payload<unknown>>, each: Expected, came: () => Promise<void>) => Promise<unknown>

/** One sink to a path of its own and one delivery for each fault; the last one meets a healthy receiver. */
const play = async (faults: FaultScript, open: (url: string) => Sink<Payload<unknown>>, deliver: Deliver) => {
  const path = `/${String(paths++)}`
  scripts.set(path, [...faults])
  const sink = open(receiver.url + path.slice(1))
  const seen: unknown[] = []
  for (const each of [...faults, healthy]) {
    const before = receiver.received.length
    const arrived = () => until(() => receiver.received.slice(before).some((one) => one.path === path))
    seen.push(await deliver(sink, expected(each, sink.name), arrived))
  }
  await sink.close({ timeout: 0 })
  scripts.delete(path)
  return seen
}

it('whatever the receiver does, a webhook has at most one verdict, that of a scripted sink in memory, and leaves no connection', async () => {
  const clock = virtualClock()
  const deliver: Deliver = async (sink, { verdict, stalls }, arrived) => {
    const silent = async (): Promise<void> => {
      await arrived()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const { verdicts, end } = await deliverOnce(sink, batch('a'), {
      attempt: { ...onlyAttempt, clock },
      ...(stalls !== 'never' && { cut: verdict === undefined ? silent() : 'after the verdict' }),
    })
    const wanted = verdict === undefined ? [] : [shown(verdict)]
    expect([verdicts.map(shown), end]).toEqual([wanted, stalls === 'never' ? 'complete' : 'cancelled'])
  }
  // Ten scripts at a time.
  const group = fc.array(script, { minLength: 10, maxLength: 10, size: 'max' })
  await fc.assert(
    fc.asyncProperty(group, async (all) => {
      await Promise.all(all.map((faults) => play(faults, (url) => webhook({ url }), deliver)))
      await until(() => receiver.connections() === 0)
    }),
    { numRuns: runs(0.1), endOnFailure: true },
  )
})

/** Webhooks to receivers, for the tests of one file. */
import { afterEach } from 'vitest'
import { webhook } from '../../src/http/webhook.ts'
import type { WebhookOptions } from '../../src/http/webhook.ts'
import type { Fault, FaultScript } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Received, type Receiver } from '../../src/testing/loopbackReceiver.ts'

/** What opens them. */
export interface WebhooksUnderTest {
  readonly receive: (script?: FaultScript | ((received: Received) => Fault)) => Promise<Receiver>
  readonly sinkTo: (target: string | WebhookOptions) => ReturnType<typeof webhook>
}

/** To be called once, at the top of a file: after each of its tests all are closed. */
export const webhooksUnderTest = (): WebhooksUnderTest => {
  const cleaners: Array<() => Promise<unknown>> = []
  afterEach(async () => {
    for (const clean of cleaners.splice(0).reverse()) await clean()
  })

  return {
    receive: async (script) => {
      const receiver = await loopbackReceiver(script)
      cleaners.push(receiver.close)
      return receiver
    },
    sinkTo: (target) => {
      const sink = webhook(target)
      cleaners.push(sink.close(0))
      return sink
    },
  }
}

/** A receiver that does not take everything. */
import { onTestFinished } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'

/** It answers 400 to events named Bad, and 200 to the others. */
export const picky = async (): Promise<Receiver> => {
  const receiver = await loopbackReceiver(({ body }) => ({
    do: 'status',
    code: body.includes('"event":"Bad"') ? 400 : 200,
  }))
  onTestFinished(receiver.close)
  return receiver
}

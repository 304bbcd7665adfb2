/** Lanes to receivers, for the tests of one file: after each of them all are closed, and no socket is left. */
import { afterEach } from 'vitest'
import type { FaultScript, Fault } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Receiver, type Received } from '../../src/testing/loopbackReceiver.ts'
import { type Lane, type LaneOptions, openLane } from '../../src/http/lane.ts'
import { socketsOpen, until } from './laneKit.ts'

/** What opens them. */
export interface LanesUnderTest {
  readonly receive: (script?: FaultScript | ((received: Received) => Fault)) => Promise<Receiver>
  readonly laneTo: (url: string, options?: Partial<LaneOptions>) => Lane
}

/** To be called once, at the top of a file. */
export const lanesUnderTest = (): LanesUnderTest => {
  const receivers: Receiver[] = []
  const lanes: Lane[] = []

  afterEach(async () => {
    for (const lane of lanes.splice(0)) await lane.close(0)()
    await until(() => receivers.every((receiver) => receiver.connections() === 0))
    for (const receiver of receivers.splice(0)) await receiver.close()
    await until(() => socketsOpen() === 0)
  })

  return {
    receive: async (script) => {
      const receiver = await loopbackReceiver(script)
      receivers.push(receiver)
      return receiver
    },
    laneTo: (url, options = {}) => {
      const lane = openLane({ name: 'lane', url: new URL(url), ...options })
      lanes.push(lane)
      return lane
    },
  }
}

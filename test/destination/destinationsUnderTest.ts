import type { DestinationOptions } from '../../src/destination/destination.ts'
import { webhookDestination, type Settings } from '../../src/destination/index.ts'
import { capDelay, exponential } from '../../src/policy/index.ts'
import type { Event } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import type { Payload, Outcome } from '../../src/index.ts'
import type { Misbehaviour, Receiver } from '../../src/testing/index.ts'
import { closedAfterEach } from '../support/http.ts'
import { track as trackOf } from './virtual.ts'

const quick = capDelay(5)(exponential({ base: 1 }))

export const track = (n: number) => trackOf(`m${String(n)}`)

export const to = (...receivers: ReadonlyArray<Receiver>): Settings => ({
  sharedSecret: 'correct horse',
  webhooks: receivers.map(({ url }) => ({ url })),
})

export const status = (code: number, after = 0): Misbehaviour => ({ do: 'status', code, after })

/** To be called once, at the top of a file: after each of its tests all are closed. */
export const destinationsUnderTest = () => {
  const { receive, use } = closedAfterEach()
  return {
    receive,
    open: (settings: Settings, options: DestinationOptions = {}) => {
      const errors: string[] = []
      const defects: string[] = []
      const outcomes: Array<Outcome<Payload<Event>>> = []
      const ignore = (): void => undefined
      const error = (message: string): void => void errors.push(message)
      const logger = { debug: ignore, info: ignore, warn: ignore, error }
      const onEvent = (event: LogEvent) => event._tag === 'Defect' && defects.push(event.where)
      const destination = webhookDestination(settings, { logger, retry: quick, onEvent, ...options })
      destination.outcomes$.subscribe((outcome) => outcomes.push(outcome))
      use(destination, () => destination.close({ timeout: 0 }))
      return { destination, outcomes, errors, defects }
    },
  }
}

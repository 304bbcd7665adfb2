/** Destinations that post to receivers, for the tests of one file. */
import type { Destination, DestinationOptions } from '../../src/destination/destination.ts'
import { webhookDestination, type Settings } from '../../src/destination/index.ts'
import { capDelay, exponential } from '../../src/policy/index.ts'
import type { TrackCall, Event } from '../../src/event/index.ts'
import type { Payload, Outcome } from '../../src/index.ts'
import type { Misbehaviour, Receiver } from '../../src/testing/index.ts'
import { closedAfterEach } from '../support/http.ts'

export const quick = capDelay(5)(exponential({ base: 1 }))

export const track = (n: number | string, more: Partial<Omit<TrackCall, 'type'>> = {}): TrackCall => ({
  type: 'track',
  userId: 'u1',
  event: 'Signed Up',
  messageId: `m${String(n)}`,
  ...more,
})

export interface Opened {
  readonly destination: Destination
  readonly outcomes: Array<Outcome<Payload<Event>>>
  readonly errors: string[]
}

export const to = (...receivers: ReadonlyArray<Receiver>): Settings => ({
  sharedSecret: 'correct horse',
  webhooks: receivers.map(({ url }) => ({ url })),
})

export const status = (code: number, after = 0): Misbehaviour => ({ do: 'status', code, after })
export const adds = ({ destination }: Opened): boolean => {
  const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = destination.stats()
  return accepted === delivered + rejected + expired + dropped + abandoned + waiting
}

/** To be called once, at the top of a file: after each of its tests all are closed. */
export const destinationsUnderTest = () => {
  const { receive, use } = closedAfterEach()
  return {
    receive,
    open: (settings: Settings, options: DestinationOptions = {}): Opened => {
      const errors: string[] = []
      const outcomes: Array<Outcome<Payload<Event>>> = []
      const ignore = (): void => undefined
      const error = (message: string): void => void errors.push(message)
      const logger = { debug: ignore, info: ignore, warn: ignore, error }
      const destination = webhookDestination(settings, { logger, retry: quick, ...options })
      destination.outcomes$.subscribe((outcome) => outcomes.push(outcome))
      use(destination, () => destination.close({ timeout: 0 }))
      return { destination, outcomes, errors }
    },
  }
}

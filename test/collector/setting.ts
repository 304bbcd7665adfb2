/** A collector with sinks in memory, as most tests need it. */
import { createCollector } from '../../src/collector/createCollector.ts'
import type { Collector, CollectorOptions, DestinationOutcome } from '../../src/collector/collector.ts'
import type { CollectorSettings } from '../../src/collector/settings.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import { memory } from '../../src/sink/memory.ts'
import type { MemorySink } from '../../src/sink/memory.ts'

export interface Setting {
  readonly collector: Collector
  readonly sink: MemorySink<Payload<Event>>
  readonly outcomes: DestinationOutcome[]
  /** The ids that have arrived. */
  readonly ids: () => ReadonlyArray<string>
}

export const settings = (sink: MemorySink<Payload<Event>>): CollectorSettings => ({
  sources: [
    { id: 'web', writeKey: 'wk', deletions: true },
    { id: 'off', writeKey: 'off', enabled: false },
    { id: 'keeping', writeKey: 'keeping' },
  ],
  destinations: [{ name: 'Own', sources: ['web', 'off', 'keeping'], sink }],
})

export const open = (options: CollectorOptions = {}): Setting => {
  const sink = memory<Payload<Event>>()
  const collector = createCollector(settings(sink), { logger: false, ...options })
  const outcomes: DestinationOutcome[] = []
  collector.outcomes$.subscribe((outcome) => outcomes.push(outcome))
  return { collector, sink, outcomes, ids: () => outcomes.map(({ outcome }) => outcome.item.id) }
}

export const track = (messageId: string, more: object = {}): object => ({
  type: 'track',
  userId: 'u',
  event: 'Seen',
  messageId,
  ...more,
})

import type { Event } from '../event/event.ts'
import { allows } from '../event/kinds.ts'
import type { Place } from './collector.ts'

/**
 * Where an event goes: to each enabled destination connected to its source that its integrations map allows (CO1). A deletion has no such
 * map: it goes to all that are enabled (CO2).
 */
export const route = <P extends Pick<Place, 'name' | 'enabled'>>(
  connected: ReadonlyArray<P>,
  event: Event,
): ReadonlyArray<P> => {
  const integrations = event.type === 'delete' ? undefined : event.integrations
  return connected.filter(({ enabled, name }) => enabled && allows(integrations, name))
}

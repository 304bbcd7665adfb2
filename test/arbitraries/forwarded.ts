import type { Event } from '../../src/event/event.ts'
import type { Forwarded } from '../../src/event/model.ts'

/** What a body carries of an event: without `integrations`, and a delete without `messageId` (EV6). */
export const forwardedOf = (event: Event): Forwarded => {
  if (event.type === 'delete') return { type: 'delete', userId: event.userId, timestamp: event.timestamp }
  const { integrations: _beside, ...carried } = event
  return carried
}

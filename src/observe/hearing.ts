import diagnostics from 'node:diagnostics_channel'
import { CHANNEL_NAMES } from './channel.ts'
import type { Happening } from './Happening.ts'
import type { Listening } from './listeners.ts'

const channelOf = (tag: Happening['_tag']): diagnostics.Channel => diagnostics.channel(CHANNEL_NAMES[tag])

/** Found once: to look a channel up for each message can be felt. */
const channels: Readonly<Record<Happening['_tag'], diagnostics.Channel>> = {
  RefusedAtDoor: channelOf('RefusedAtDoor'),
  KeysDropped: channelOf('KeysDropped'),
  Accepted: channelOf('Accepted'),
  Attempted: channelOf('Attempted'),
  PassedOver: channelOf('PassedOver'),
  Waiting: channelOf('Waiting'),
  Ended: channelOf('Ended'),
  Defect: channelOf('Defect'),
}

/**
 * Whether anybody beside the logger would hear of such a happening: the host's `tell`, the runtime log, or a subscriber of its channel.
 * What nobody hears need not be made, which can be felt where there is one for each message. `DEBUG` is read once, as `debugTell`
 * does.
 */
export const hearing = ({ tell }: Listening): ((tag: Happening['_tag']) => boolean) => {
  const debug = process.env['DEBUG']
  if (tell !== undefined || (debug !== undefined && debug !== '')) return () => true
  return (tag) => channels[tag].hasSubscribers
}

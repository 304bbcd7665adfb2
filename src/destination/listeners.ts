import { channel } from '../observe/channel.ts'
import { debugTell } from '../observe/debugTell.ts'
import type { Tell } from '../observe/Happening.ts'
import type { Logger } from '../observe/Logger.ts'
import { tellAll } from '../observe/tellAll.ts'
import { toLogger } from '../observe/toLogger.ts'
import type { DestinationOptions } from './Destination.ts'

const nothing = (): void => undefined

/** What a person must know goes to the console unless the host has a better place; the rest is silent. */
const toConsole: Logger = {
  debug: nothing,
  info: nothing,
  warn: (message) => {
    console.warn(message)
  },
  error: (message) => {
    console.error(message)
  },
}

/** Everybody who is told what happens in a destination: the host's diagnostics, its logger, and the destination itself. */
export const listeners = (
  { logger = toConsole, tell }: DestinationOptions,
  ...own: ReadonlyArray<Tell>
): Tell => tellAll(...own, channel, debugTell(), logger === false ? undefined : toLogger(logger), tell)

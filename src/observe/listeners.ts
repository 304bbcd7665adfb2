import { channel } from './channel.ts'
import { debugTell } from './debugTell.ts'
import type { Tell } from './Happening.ts'
import type { Logger } from './Logger.ts'
import { tellAll } from './tellAll.ts'
import { toLogger } from './toLogger.ts'

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

/** Who wants to know, beside the host's diagnostics. */
export interface Listening {
  /** Default: warnings and errors go to the console. `false` for silence. */
  readonly logger?: Logger | false
  /** Is told everything that happens. */
  readonly tell?: Tell
}

/** Everybody who is told what happens in a façade: the host's diagnostics, its logger, and the façade itself. */
export const listeners = ({ logger = toConsole, tell }: Listening, ...own: ReadonlyArray<Tell>): Tell =>
  tellAll(...own, channel, debugTell(), logger === false ? undefined : toLogger(logger), tell)

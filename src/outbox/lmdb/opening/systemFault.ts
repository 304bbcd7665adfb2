import { messageOf } from '../../../core/awaitable.ts'
import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'
import { isFull } from './SystemError.ts'

/** What the operating system said of the folder, as a fault that says the way out. */
export const systemFault = (path: string, error: unknown): OutboxFault =>
  isFull(error)
    ? outboxFault(
        'noSpace',
        path,
        `no space is left for the outbox in ${path}: make some, or give it another folder`,
      )
    : outboxFault(
        'noAccess',
        path,
        `the folder ${path} of the outbox cannot be used: let this user make, read and write it (${messageOf(error)})`,
      )

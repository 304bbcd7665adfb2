import { messageOf } from '../../../internal/messageOf.ts'
import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT'])

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** What the operating system said of the folder, as a fault that says the way out. */
export const systemFault = (path: string, error: unknown): OutboxFault =>
  FULL.has(codeOf(error))
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

import { retryFor } from '../forward/retryFor.ts'
import { runErrand } from '../forward/runErrand.ts'
import { USAGE } from '../ExitCode.ts'
import { OutboxError } from '../../outbox/lmdb/OutboxError.ts'
import type { Terminal } from '../Terminal.ts'
import { sendOptions } from './SendOptions.ts'
import type { SendFlags } from './SendOptions.ts'
import { toWebhooks } from './toWebhooks.ts'

/** `headrace send`: forwards NDJSON events to one to five URLs. Answers the exit code. */
export const sendCommand = async (
  file: string | undefined,
  flags: SendFlags,
  terminal: Terminal,
): Promise<number> => {
  const options = sendOptions(flags, process.env)
  if (options._tag === 'Left') {
    for (const sentence of options.left) terminal.err.line(`headrace send: ${sentence}`)
    return USAGE
  }
  const { settings, timeout, concurrency, egress, maxWaiting, dead, grace, output } = options.right
  const path = options.right.outbox
  const outbox = path === undefined ? undefined : { path, fromStart: options.right.fromStart }
  const retry = retryFor(options.right.retryFor)
  const destination = { retry, timeout, concurrency, egress, logger: false } as const
  const open = toWebhooks({ settings, destination, maxWaiting, outbox })
  try {
    return await runErrand({ command: 'send', file, open, dead, outbox: path, grace, output }, terminal)
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error
    terminal.err.line(`headrace send: --outbox: ${error.message}`)
    return USAGE
  }
}

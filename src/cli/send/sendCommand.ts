import { retryFor } from '../forward/retryFor.ts'
import { runErrand } from '../forward/runErrand.ts'
import { USAGE } from '../ExitCode.ts'
import type { Terminal } from '../Terminal.ts'
import { sendOptions } from './SendOptions.ts'
import type { SendFlags } from './SendOptions.ts'
import { toWebhooks } from './toWebhooks.ts'

/** `headrace send`: forwards NDJSON events to one to five URLs. Answers the exit code. */
export const sendCommand = async (file: string, flags: SendFlags, terminal: Terminal): Promise<number> => {
  const options = sendOptions(flags, process.env)
  if (options._tag === 'Left') {
    for (const sentence of options.left) terminal.err.line(`headrace send: ${sentence}`)
    return USAGE
  }
  const { settings, timeout, concurrency, egress, maxWaiting, dead, grace, output } = options.right
  const retry = retryFor(options.right.retryFor)
  const destination = { retry, timeout, concurrency, egress, logger: false } as const
  const open = toWebhooks({ settings, destination, maxWaiting })
  return runErrand({ command: 'send', file, open, dead, grace, output }, terminal)
}

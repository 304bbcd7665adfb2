import { ConfigError } from '../../outcome/ConfigError.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { retryFor } from '../forward/retryFor.ts'
import { runErrand } from '../forward/runErrand.ts'
import { USAGE } from '../ExitCode.ts'
import type { Terminal } from '../Terminal.ts'
import { batchOptions } from './BatchOptions.ts'
import type { BatchFlags } from './BatchOptions.ts'
import { toEndpoint } from './toEndpoint.ts'

/** Events in memory are bounded by their number; this is for very large ones (DE9). */
const MOST_BYTES = 268_435_456

const FLAGS: Readonly<Record<string, string>> = { endpoint: '--endpoint', writeKey: '--write-key-env' }

/** What is wrong with the options of a client, in the words of the command line. */
const sentenceOf = ({ path, message }: Fault): string => {
  const [option = '', ...within] = path.split('.')
  if (option === 'headers') return `--header ${within.join('.')} ${message}`.replaceAll(/ +/g, ' ')
  return `${FLAGS[option] ?? option} ${message}`.trim()
}

/** `headrace batch`: posts NDJSON events in batches to an endpoint of the tracking convention. Answers the exit code. */
export const batchCommand = async (file: string, flags: BatchFlags, terminal: Terminal): Promise<number> => {
  const complain = (sentences: ReadonlyArray<string>): number => {
    for (const sentence of sentences) terminal.err.line(`headrace batch: ${sentence}`)
    return USAGE
  }
  const options = batchOptions(flags, process.env)
  if (options._tag === 'Left') return complain(options.left)
  const { writeKey, maxWaiting, retryFor: deadline, dead, grace, output, ...given } = options.right
  const client = {
    ...given,
    maxCount: maxWaiting,
    maxBytes: MOST_BYTES,
    retry: retryFor(deadline),
    logger: false,
  } as const
  const open = toEndpoint({ writeKey, client })
  try {
    return await runErrand({ command: 'batch', file, open, dead, grace, output }, terminal)
  } catch (error) {
    // What an endpoint and a write key may be is for the client to say, before anything is read.
    if (error instanceof ConfigError) return complain(error.faults.map(sentenceOf))
    throw error
  }
}

import type { Collector } from '../../collector/Collector.ts'
import { createCollector } from '../../collector/createCollector.ts'
import { OutboxError } from '../../outbox/lmdb/OutboxError.ts'
import { strayOutboxes } from '../config/strayOutboxes.ts'
import { USAGE } from '../ExitCode.ts'
import { toJson } from '../output/Report.ts'
import { whyNot } from '../output/whyNot.ts'
import { stopSignals } from '../stopSignals.ts'
import type { Stop } from '../stopSignals.ts'
import type { Terminal } from '../Terminal.ts'
import { accountOf, exitCodeOf, linesOf } from './Account.ts'
import { collectOptions } from './CollectOptions.ts'
import type { CollectFlags, CollectOptions } from './CollectOptions.ts'
import { printOutcomes } from './printOutcomes.ts'
import { serve } from './serve.ts'
import type { Serving } from './serve.ts'

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve()
    })
  })

/** Undefined if a folder cannot be opened, and why was told. */
const opened = (
  settings: CollectOptions['settings'],
  egress: CollectOptions['egress'],
  terminal: Terminal,
): Collector | undefined => {
  try {
    return createCollector(settings, { egress })
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error
    terminal.err.line(`headrace collect: ${error.message}`)
    return undefined
  }
}

const run = async (
  { settings, host, port, grace, egress, output }: CollectOptions,
  stop: Stop,
  terminal: Terminal,
): Promise<number> => {
  const collector = opened(settings, egress, terminal)
  if (collector === undefined) return USAGE
  let server: Serving
  try {
    server = await serve(host, port, collector.listener)
  } catch (error) {
    await collector.close({ timeout: 0 })
    terminal.err.line(
      `headrace collect: port ${String(port)} at ${host} cannot be had: ${whyNot(error)}; give another PORT, or 0 for any`,
    )
    return USAGE
  }
  for (const note of strayOutboxes(settings)) terminal.err.line(`headrace collect: ${note}`)
  const url = `${server.origin}/v1/batch`
  terminal.out.line(output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  const printed = printOutcomes(collector, output, terminal)
  await aborted(stop.gently)
  terminal.err.line('headrace: stopping: what is on its way may end; once more to stop at once')
  server.close()
  await Promise.race([collector.close({ timeout: grace }).then(() => printed), aborted(stop.now)])
  server.cut()
  const account = accountOf(collector.stats())
  if (output === 'json') terminal.out.line(toJson({ t: 'summary', ...account }))
  else for (const line of linesOf(account)) terminal.err.line(`headrace: ${line}`)
  return exitCodeOf(account)
}

/** `headrace collect`: receives events over HTTP and forwards them to destinations. Answers the exit code. */
export const collectCommand = async (
  port: string,
  flags: CollectFlags,
  terminal: Terminal,
): Promise<number> => {
  const options = collectOptions(port, flags, process.env)
  if (options._tag === 'Left') {
    for (const sentence of options.left) terminal.err.line(`headrace collect: ${sentence}`)
    return USAGE
  }
  const stop = stopSignals()
  const code = await run(options.right, stop, terminal)
  stop.release()
  if (stop.now.aborted) process.exit(code)
  return code
}

import type { Collector, CollectorStats, DestinationOutcome } from '../collector/collector.ts'
import { createCollector } from '../collector/createCollector.ts'
import type { CollectorSettings } from '../collector/settings.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { readConfig } from './config.ts'
import type { CollectOptions } from './flags.ts'
import { UsageError, argumentOf, port } from './options.ts'
import type { Output } from './options.ts'
import { serve } from './server.ts'
import { endingLine, endingOf, plain, showSummary, summaryOf, toJson } from './report.ts'
import { DEAD, FINE, STOPPED, STOPPING, aborted, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** `forgotten`: dead letters removed to make room, since the folder was made. */
const accountOf = ({ received, accepted, refused, unrouted, deletions, destinations }: CollectorStats) => ({
  ...{ received, accepted, refused, unrouted, deletions },
  destinations: Object.fromEntries(
    Object.entries(destinations).map(([name, each]) => [
      name,
      { ...summaryOf(each.refused, each), forgotten: each.evictedDeadLetters },
    ]),
  ),
})

type Account = ReturnType<typeof accountOf>

const linesOf = ({ received, refused, unrouted, destinations }: Account): ReadonlyArray<string> => {
  const all = `received ${String(received)} (${String(refused)} refused)`
  const each = Object.entries(destinations).map(([name, { forgotten, ...totals }]) => {
    const gone = forgotten === 0 ? '' : `; ${String(forgotten)} old dead letters were removed to make room`
    return `${plain(name)}: ${showSummary(`accepted ${String(totals.accepted)}`, 0, totals)}${gone}`
  })
  return [unrouted === 0 ? all : `${all} · wanted by no destination ${String(unrouted)}`, ...each]
}

const exitCodeOf = ({ destinations }: Account): number => {
  const all = Object.values(destinations)
  if (all.some(({ abandoned, waiting }) => abandoned + waiting > 0)) return STOPPED
  return all.some(({ rejected, expired, dropped }) => rejected + expired + dropped > 0) ? DEAD : FINE
}

/** Bytes that may wait for a slow reader of stdout. */
const MAX_UNREAD = 16_777_216

/** Writes a line for each event that has ended. Lines that a slow reader has no room for are left out, which is said once. */
const printOutcomes = (collector: Collector, output: Output, { out, err, host }: Terminal): void => {
  let isLeftOut = false
  const lineOf = ({ destination, outcome }: DestinationOutcome): string => {
    const ending = endingOf(outcome)
    const { id, items } = outcome.item
    const [{ type }] = items
    if (output === 'json') return toJson({ ...ending, destination, id, type })
    return endingLine(ending, `${plain(destination)}  ${type.padEnd(8)} ${plain(id)}`, out.paint)
  }
  if (output === 'quiet') return
  const print = (outcome: DestinationOutcome): void => {
    if (host.stdout.writableLength <= MAX_UNREAD) out.line(lineOf(outcome))
    else if (!isLeftOut) {
      isLeftOut = true
      err.line('headrace collect: stdout is read too slowly: lines are left out; the summary is complete')
    }
  }
  // It never fails: it completes when the collector is closed.
  collector.outcomes$.subscribe({ next: print, error: () => undefined })
}

const open = (settings: CollectorSettings, egress: 'network' | 'public'): Collector => {
  try {
    return createCollector(settings, { egress })
  } catch (error) {
    if (error instanceof OutboxError) throw new UsageError(error.message)
    throw error
  }
}

/** `headrace collect`: receives events over HTTP and forwards them to destinations. */
export const collectCommand = async (
  { config, egress, grace, host: address, output }: CollectOptions,
  terminal: Terminal,
  portText: string,
): Promise<number> => {
  const { out, err, host } = terminal
  const number = argumentOf('PORT', portText, port)
  const settings = readConfig(config, host.env)
  const collector = open(settings, egress)
  const server = await serve(address, number, collector.listener).catch(async (error: unknown) => {
    await collector.close({ timeout: 0 })
    throw error
  })
  const stop = stopSignals(host)
  const url = `${server.origin}/v1/batch`
  out.line(output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  printOutcomes(collector, output, terminal)
  await aborted(stop.gently)
  err.line(STOPPING)
  server.stop()
  await Promise.race([collector.close({ timeout: grace }), aborted(stop.now)])
  server.close()
  const account = accountOf(collector.stats())
  if (output === 'json') out.line(toJson({ t: 'summary', ...account }))
  else for (const line of linesOf(account)) err.line(`headrace: ${line}`)
  stop.release()
  const code = exitCodeOf(account)
  if (stop.now.aborted) host.exit(code)
  return code
}

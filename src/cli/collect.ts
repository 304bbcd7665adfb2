import type { CollectorStats, Collector, DestinationOutcome } from '../collector/collector.ts'
import { createCollector } from '../collector/createCollector.ts'
import type { CollectorSettings } from '../collector/settings.ts'
import type { Totals } from '../core/totals.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { readConfig, strayOutboxes } from './config.ts'
import type { CollectOptions } from './flags.ts'
import { UsageError, orUsage, parseCount } from './options.ts'
import type { Output } from './options.ts'
import { serve } from './receiver.ts'
import type { Server } from './receiver.ts'
import { endingLine, endingOf, plain, toJson, whyNot } from './report.ts'
import { showEnds, summaryOf } from './summary.ts'
import type { Summary } from './summary.ts'
import { DEAD, FINE, STOPPED, STOPPING, aborted, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** What became of everything that arrived. */
export interface Account {
  readonly received: number
  readonly accepted: number
  readonly refused: number
  /** Accepted, but no destination wanted them. */
  readonly unrouted: number
  readonly deletions: number
  /** By name. `forgotten`: dead letters removed to make room, since the folder was made. */
  readonly destinations: Readonly<Record<string, Summary & { readonly forgotten: number }>>
}

export const accountOf = (stats: CollectorStats): Account => {
  const { received, accepted, refused, unrouted, deletions } = stats
  const destinations = Object.entries(stats.destinations).map(
    ([name, each]) =>
      [name, { ...summaryOf(each.refused, each), forgotten: each.evictedDeadLetters }] as const,
  )
  return { received, accepted, refused, unrouted, deletions, destinations: Object.fromEntries(destinations) }
}

const showDestination = (totals: Totals, forgotten: number): string => {
  const gone = forgotten === 0 ? '' : `; ${String(forgotten)} old dead letters were removed to make room`
  return [`accepted ${String(totals.accepted)}`, showEnds(totals)].filter(Boolean).join(' · ') + gone
}

export const linesOf = ({ received, refused, unrouted, destinations }: Account): ReadonlyArray<string> => [
  `received ${String(received)} (${String(refused)} refused)${unrouted === 0 ? '' : ` · wanted by no destination ${String(unrouted)}`}`,
  ...Object.entries(destinations).map(
    ([name, { forgotten, ...totals }]) => `${plain(name)}: ${showDestination(totals, forgotten)}`,
  ),
]

export const exitCodeOf = ({ destinations }: Account): number => {
  const all = Object.values(destinations)
  if (all.some(({ abandoned, waiting }) => abandoned + waiting > 0)) return STOPPED
  return all.some(({ rejected, expired, dropped }) => rejected + expired + dropped > 0) ? DEAD : FINE
}

const outcomeLine = (
  { destination, outcome }: DestinationOutcome,
  output: Output,
  { out }: Terminal,
): string => {
  const ending = endingOf(outcome)
  const { id, items } = outcome.item
  const [{ type }] = items
  if (output === 'json') return toJson({ ...ending, destination, id, type })
  return endingLine(ending, `${plain(destination)}  ${type.padEnd(8)} ${plain(id)}`, { paint: out.paint })
}

/** Bytes that may wait for a slow reader of stdout. */
const MAX_UNREAD = 16_777_216

/** Writes a line for each event that has ended. Lines that a slow reader has no room for are left out, which is said once. */
const printOutcomes = (collector: Collector, output: Output, terminal: Terminal): void => {
  if (output === 'quiet') return
  let isLeftOut = false
  const print = (outcome: DestinationOutcome): void => {
    if (terminal.host.stdout.writableLength <= MAX_UNREAD) {
      terminal.out.line(outcomeLine(outcome, output, terminal))
      return
    }
    if (!isLeftOut)
      terminal.err.line(
        'headrace collect: stdout is read too slowly: lines are left out; the summary is complete',
      )
    isLeftOut = true
  }
  // It never fails: it completes when the collector is closed.
  collector.outcomes$.subscribe({ next: print, error: () => undefined })
}

const open = (settings: CollectorSettings, egress: 'network' | 'public'): Collector => {
  try {
    return createCollector(settings, { egress })
  } catch (error) {
    if (error instanceof OutboxError) throw new UsageError([error.message])
    throw error
  }
}

const listen = async (collector: Collector, host: string, port: number): Promise<Server> => {
  try {
    return await serve(host, port, collector.listener)
  } catch (error) {
    await collector.close({ timeout: 0 })
    throw new UsageError([
      `port ${String(port)} at ${host} cannot be used: ${whyNot(error)}; give another PORT, or 0 for any`,
    ])
  }
}

/** `headrace collect`: receives events over HTTP and forwards them to destinations. */
export const collectCommand = async (
  portText: string | undefined,
  options: CollectOptions,
  terminal: Terminal,
): Promise<number> => {
  const { out, err, host } = terminal
  const { egress, grace, output } = options
  const port = orUsage(parseCount('PORT', portText ?? '', 0, 65_535))
  const settings = orUsage(readConfig(options.config, host.env))
  const collector = open(settings, egress)
  const server = await listen(collector, options.host, port)
  const stop = stopSignals(host)
  for (const note of strayOutboxes(settings)) err.line(`headrace collect: ${note}`)
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

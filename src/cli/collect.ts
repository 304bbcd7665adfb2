/**
 * What `collect` was told, read into values.
 *
 * @module
 */

import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { isIPv6 } from 'node:net'
import { concatMap, filter, lastValueFrom } from 'rxjs'
import type { CollectorStats, Collector, DestinationOutcome } from '../collector/collector.ts'
import { createCollector } from '../collector/createCollector.ts'
import type { CollectorSettings } from '../collector/settings.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { readConfig, strayOutboxes } from './config.ts'
import { endingOf, endingLine, plain, toJson, whyNot } from './report.ts'
import { summaryOf, show } from './summary.ts'
import type { Summary } from './summary.ts'
import { DEAD, FINE, STOPPED, USAGE, stopSignals } from './terminal.ts'
import type { Terminal, Stop } from './terminal.ts'
import { OUTPUTS, all, wrong, parseChoice, parseCount, parseDuration } from './values.ts'
import type { Output, Checked } from './values.ts'

/** Flags as commander hands them over. */
export interface CollectFlags {
  readonly config?: string
  readonly host: string
  readonly grace: string
  readonly egress: string
  readonly output: string
}

/** What `collect` works with. */
export interface CollectOptions {
  readonly port: number
  readonly host: string
  readonly settings: CollectorSettings
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly egress: 'network' | 'public'
  readonly output: Output
}

type Environment = Readonly<Record<string, string | undefined>>

const settingsIn = (file: string | undefined, env: Environment): Checked<CollectorSettings> =>
  file === undefined
    ? wrong("--config is missing: give a file of sources and destinations, see 'headrace help collect'")
    : readConfig(file, env)

/** Reads the arguments of `collect`; everything that is wrong is told at once. */
export const collectOptions = (
  port: string,
  flags: CollectFlags,
  env: Environment,
): Checked<CollectOptions> =>
  all({
    port: parseCount('PORT', port, 0, 65_535),
    host:
      flags.host === '' ? wrong('--host must be an address') : { _tag: 'Right' as const, right: flags.host },
    settings: settingsIn(flags.config, env),
    grace: parseDuration('--grace', flags.grace, 0),
    egress: parseChoice('--egress', flags.egress, ['network', 'public']),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })

/** What became of the share of a destination. */
export interface Share extends Summary {
  /** Dead letters that made room for newer ones, in the folder of its outbox since it was made. */
  readonly forgotten: number
}

/** What became of everything that came. */
export interface Account {
  readonly received: number
  readonly accepted: number
  readonly refused: number
  /** Accepted, though no destination wanted them. */
  readonly unrouted: number
  readonly deletions: number
  /** By name. */
  readonly destinations: Readonly<Record<string, Share>>
}

export const accountOf = (stats: CollectorStats): Account => {
  const { received, accepted, refused, unrouted, deletions, destinations } = stats
  const summaries: Record<string, Share> = {}
  for (const [name, each] of Object.entries(destinations))
    summaries[name] = { ...summaryOf(each.refused, each), forgotten: each.evictedDeadLetters }
  return {
    received,
    accepted,
    refused,
    unrouted,
    deletions,
    destinations: summaries,
  }
}

const gone = ({ forgotten }: Share): string =>
  forgotten === 0 ? '' : `; ${String(forgotten)} dead letters made room for newer ones, and are gone`

/** In lines. */
export const linesOf = ({
  received,
  accepted,
  refused,
  unrouted,
  destinations,
}: Account): ReadonlyArray<string> => [
  `${String(received)} received = ${String(accepted)} accepted + ${String(refused)} refused${unrouted === 0 ? '' : `; ${String(unrouted)} wanted by no destination`}`,
  ...Object.entries(destinations).map(([name, summary]) => `${name}: ${show(summary)}${gone(summary)}`),
]

/** The code that it ends with. */
export const exitCodeOf = ({ destinations }: Account): number => {
  const all = Object.values(destinations)
  if (all.some(({ abandoned, waiting }) => abandoned + waiting > 0)) return STOPPED
  return all.some(({ rejected, expired, dropped }) => rejected + expired + dropped > 0) ? DEAD : FINE
}

const write = ({ destination, outcome }: DestinationOutcome, output: Output, { out }: Terminal): void => {
  const ending = endingOf(outcome)
  const { id, items } = outcome.item
  const [{ type }] = items
  if (output === 'json') out.line(toJson({ ...ending, destination, id, type }))
  else
    out.line(
      endingLine(ending, `${plain(destination)}  ${type.padEnd(8)} ${plain(id)}`, { paint: out.paint }),
    )
}

/** Outcomes that wait for a slow reader of stdout; beyond them lines are left out. */
const MAX_UNWRITTEN = 10_000

/** Writes a line for each event that has ended at a destination, until the collector is closed. */
export const printOutcomes = async (
  collector: Collector,
  output: Output,
  terminal: Terminal,
): Promise<void> => {
  if (output === 'quiet') return
  let unwritten = 0
  let isLeftOut = false
  const hasRoom = (): boolean => {
    if (unwritten < MAX_UNWRITTEN) {
      unwritten++
      return true
    }
    if (!isLeftOut) {
      terminal.err.line(
        'headrace collect: stdout is read too slowly, so lines were left out; the account is complete',
      )
    }
    isLeftOut = true
    return false
  }
  const writeInTurn = async (outcome: DestinationOutcome): Promise<void> => {
    await terminal.out.caughtUp()
    unwritten--
    write(outcome, output, terminal)
  }
  const written$ = collector.outcomes$.pipe(filter(hasRoom), concatMap(writeInTurn))
  await lastValueFrom(written$, { defaultValue: undefined })
}

/** A server that listens. */
export interface Serving {
  /** `http://127.0.0.1:7410` */
  readonly origin: string
  /** Listens no more; what is on its way may end. */
  readonly close: () => void
  /** Cuts every connection. */
  readonly cut: () => void
}

/** Opens an HTTP server. Port 0 is any that is free. Fails as Node does when the port or the address cannot be had. */
export const serve = (host: string, port: number, listener: RequestListener): Promise<Serving> =>
  new Promise((resolve, reject) => {
    const server = createServer(listener)
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({
        origin: `http://${isIPv6(host) ? `[${host}]` : host}:${String(bound)}`,
        close: () => {
          server.close()
          server.closeIdleConnections()
        },
        cut: () => {
          server.closeAllConnections()
        },
      })
    })
  })

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

import type { RequestListener } from 'node:http'
import { Subject, filter, type Observable } from 'rxjs'
import { constVoid, isLeft } from '../core/either.ts'
import type { Collector, DestinationOutcome } from '../collector/collector.ts'
import { createCollector } from '../collector/createCollector.ts'
import { faultText } from '../core/refusal.ts'
import { sumOf } from '../core/outcome.ts'
import type { Inspectable, Inspector } from '../inspector/inspector.ts'
import type { Listener, LogEvent } from '../log/logEvent.ts'
import { LAST_ATTEMPT } from '../outbox/close.ts'
import { changesOf, readConfig, type Config } from './config.ts'
import { placeOf, type OptionsOf } from './flags.ts'
import { drawLive, drawStopping, outputOf } from './live.ts'
import { UsageError, type Output } from './options.ts'
import { DEAD_ENDS, endCodeOf, endingLine, endingOf, madeRoom } from './report.ts'
import { showSummary, summaryOf, toJson, whyNot } from './report.ts'
import { openPostgres, serve } from './server.ts'
import { STOPPED, aborted, plain, quit, stopSignals, type Terminal } from './terminal.ts'

/** Bytes that may wait for a slow reader of stdout. */
const MAX_UNREAD = 16_777_216

/** The deadline of the default policy. */
const RETRY_FOR = 14_400_000

/** A destination, for an inspector. */
const inspectableOf = (collector: Collector, name: string, events: Observable<LogEvent>) => {
  const dead = collector.dead(name)
  if (dead === undefined) return undefined
  const events$ = events.pipe(filter(({ from }) => from === name))
  // It is gone for a moment when a file that was read again leaves it out.
  const stats = () => collector.stats().destinations[name] ?? { ...sumOf([]), refused: 0 }
  return { name, events$, dead, stats }
}

/** Writes a line for each outcome. Lines beyond a slow reader's buffer are left out, which is said once. */
const printOutcomes = (collector: Collector, output: Output, { out, err, host }: Terminal): void => {
  let isLeftOut = false
  const print = ({ destination, outcome }: DestinationOutcome): void => {
    if (host.stdout.writableLength > MAX_UNREAD) {
      if (!isLeftOut)
        err.line('headrace collect: stdout is read too slowly: lines are left out; the summary is complete')
      isLeftOut = true
      return
    }
    const ending = endingOf(outcome)
    const { id, items } = outcome.item
    const [{ type }] = items
    if (output === 'live' && !DEAD_ENDS.has(ending.outcome)) return
    if (output === 'json') out.line(toJson({ t: 'outcome', ...ending, destination, id, type }))
    else out.line(endingLine(ending, `${plain(destination)}  ${type.padEnd(8)} ${plain(id)}`, out.paint))
  }
  // It never fails: it completes when the collector is closed.
  if (output !== 'quiet') collector.outcomes$.subscribe({ next: print, error: () => undefined })
}

/** Reads the file again, and says what changed, or why nothing did. */
const reloading = (
  collector: Collector,
  first: Config,
  file: string,
  output: Output,
  { out, err, host }: Terminal,
  taken: (config: Config) => void,
) => {
  let config = first
  const tell = (changes: ReadonlyArray<string>, faults: ReadonlyArray<string>): void => {
    if (output === 'json') return out.line(toJson({ t: 'reload', changes, faults }))
    const read = `${file} is read again: ${changes.length > 0 ? changes.join(', ') : 'nothing has changed'}`
    err.line(`headrace collect: ${faults.length > 0 ? `nothing changes: ${faults.join('; ')}` : read}`)
  }
  return (): void => {
    try {
      const next = readConfig(file, host.env)
      // A file without `enabled` means that it is on.
      const destinations = next.settings.destinations.map((each) => ({ enabled: true, ...each }))
      const said = collector.update({ ...next.settings, destinations })
      if (isLeft(said)) return tell([], '_tag' in said.left ? ['it is closing'] : said.left.map(faultText))
      tell(changesOf(config, next), [])
      taken(next)
      config = next
    } catch (error) {
      tell([], error instanceof UsageError ? error.sentences : [whyNot(error)])
    }
  }
}

export const collectCommand = async (options: OptionsOf<'collect'>, terminal: Terminal, portText: string) => {
  const { config, egress, grace, host: address, inspect } = options
  const { out, err, host } = terminal
  const output = outputOf(options.output, terminal)
  const first = readConfig(config, host.env)
  const place = placeOf(options)
  const queues = place?.server
  if (place && !queues) throw new UsageError('--outbox must be a URL: the file of --config names folders')
  const database = queues && (await openPostgres(queues))
  const outbox = database && { outbox: (name: string) => database.outboxOf(`${queues.queue}/${name}`) }
  const events = new Subject<LogEvent>()
  const isWatched = output === 'live' || inspect !== undefined
  const onEvent: Listener = (event) => events.next(event)
  const collector = createCollector(first.settings, { egress, ...outbox, ...(isWatched && { onEvent }) })
  let panel: Inspector | undefined
  let parts: ReadonlyArray<Inspectable> = []
  const show = ({ settings }: Config): void => {
    const partOf = (of: string) =>
      parts.find(({ name }) => name === of) ?? inspectableOf(collector, of, events) ?? []
    parts = settings.destinations.flatMap(({ name }) => partOf(name))
    panel?.update(...parts)
  }
  show(first)
  // With a terminal, SIGHUP says that it was closed.
  const isService = !err.isTTY && !out.isTTY && host.stdin.isTTY !== true
  const reload = isService ? reloading(collector, first, config, output, terminal, show) : undefined
  const stop = stopSignals(host, reload)
  const answer: RequestListener = (request, response) => {
    const isReadiness = request.url === '/readyz'
    if (isReadiness || request.url === '/healthz')
      response.writeHead(isReadiness && stop.gently.aborted ? 503 : 200).end()
    else collector.listener(request, response)
  }
  const open = async () => {
    await database?.opened()
    if (inspect !== undefined)
      panel = await (await import('./inspect.ts')).openInspector(inspect, parts, terminal)
    return serve(address, portText, answer)
  }
  const { server, origin } = await open().catch(async (error: unknown) => {
    await panel?.close()
    await collector.close({ timeout: 0 })
    throw error
  })
  const url = `${origin}/v1/batch`
  out.line(output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  printOutcomes(collector, output, terminal)
  const eraseView = output === 'live' ? drawLive(terminal, parts, { limit: RETRY_FOR }) : constVoid
  await aborted(stop.gently)
  eraseView()
  const totals = () => sumOf(Object.values(collector.stats().destinations))
  const erase = drawStopping(terminal, grace + LAST_ATTEMPT, () => totals().waiting)
  const closed = await Promise.race([collector.close({ timeout: grace }), aborted(stop.now)])
  erase()
  // Until here /readyz answers that it stops.
  server.close()
  server.closeAllConnections()
  await panel?.close()

  const { received, accepted, refused, unrouted, deletions, destinations } = collector.stats()
  const accounts = Object.entries(destinations).map(
    ([name, one]) => [name, { ...summaryOf(one.refused, one), forgotten: one.evictedDeadLetters }] as const,
  )
  // With the destinations that a file that was read again left out. A stop at once leaves some open.
  const all = closed?.totals ?? totals()
  const account = { received, accepted, refused, unrouted, deletions, totals: all }
  if (output === 'json' && !out.gone.aborted)
    out.line(toJson({ t: 'summary', ...account, destinations: Object.fromEntries(accounts) }))
  else {
    const unwanted = unrouted === 0 ? '' : ` · wanted by no destination ${String(unrouted)}`
    err.line(`headrace: received ${String(received)} (${String(refused)} refused)${unwanted}`)
    for (const [name, { forgotten, ...each }] of accounts) {
      const ends = showSummary(`accepted ${String(each.accepted)}`, 0, each)
      err.line(`headrace: ${plain(name)}: ${ends}${madeRoom('; ', forgotten)}`)
    }
    if (all.accepted > totals().accepted)
      err.line(`headrace: with removed ones: ${showSummary(`accepted ${String(all.accepted)}`, 0, all)}`)
  }
  const code = closed ? endCodeOf(all) : STOPPED
  if (stop.now.aborted || database?.isBusy() === true) await quit(terminal, code)
  return code
}

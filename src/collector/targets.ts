/** The destinations of a collector. They may change while it runs. */
import { isLeft, left, right, type Either } from '../core/either.ts'
import { checkOptions, optionalKey, strict } from '../core/options.ts'
import { ConfigError, type Fault } from '../core/refusal.ts'
import { sumOf, type Totals } from '../core/outcome.ts'
import { openDestination, orFaults } from '../destination/createDestination.ts'
import type { SharedOptions } from '../destination/settings.ts'
import { CLOSING, isSameSecret, urlsSink, webhooksOf } from '../destination/urls.ts'
import type { Hook, Receivers } from '../destination/urls.ts'
import type { Event } from '../event/event.ts'
import { bodyOf, type Payload } from '../event/payload.ts'
import { outboxOption, ownedBy } from '../outbox/lmdb/openOutbox.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { signerSource, type SecretSource } from '../signing/secret.ts'
import { contramap, stoppable } from '../sink/layer.ts'
import { withTimeout } from '../sink/timeout.ts'
import type { Collector, DestinationOutcome } from './collector.ts'
import type { Target } from './ingest.ts'
import type { CheckedCollectorOptions, CollectorSettings, DestinationSettings } from './settings.ts'

interface Opened extends Target {
  settings: DestinationSettings
  isGone: boolean
  /** Prepares other settings. Throws a ConfigError, or answers the function that puts them into effect. */
  readonly prepare: (settings: DestinationSettings) => () => void
}

/** The sink of the host, with a time for each attempt, and its signature in the payload. */
const ownSink = (sink: Hook, secret: SecretSource | undefined, { timeout, layer }: SharedOptions) => {
  const signer = secret === undefined ? undefined : signerSource(secret)
  const withSignature = (payload: Payload<Event>): Payload<Event> =>
    signer ? { ...payload, signature: signer()(bodyOf(payload, 0)) } : payload
  let stopped: typeof CLOSING | undefined
  const signed = stoppable(signer ? contramap(withSignature)(sink) : sink, () => stopped)
  return (): Receivers => ({
    sink: withTimeout({ timeout })(layer?.(signed) ?? signed),
    exchange: () => undefined,
    closedUntil: () => -Infinity,
    stop: () => void (stopped = CLOSING),
  })
}

const answerOfHost = strict({ outbox: optionalKey(outboxOption<Payload<Event>>()) })

const NO_DEAD_LETTERS = "lacks addDeadLetter, for events without room: add it, or give whenFull: 'refuse'"

const openTarget = (
  settings: DestinationSettings,
  { outbox: outboxFor, ...options }: CheckedCollectorOptions,
  onOutcome: (outcome: DestinationOutcome) => void,
): Opened => {
  const { name, sink, sharedSecret, enabled = true, outbox: folder } = settings
  const asked = (folder ?? outboxFor) ? { outbox: folder ?? outboxFor?.(name) } : {}
  const { outbox } = checkOptions('settings', answerOfHost, asked)
  const all = { ...options, name, ...(outbox && { outbox: ownedBy(name, outbox) }) }
  const hooksOf = webhooksOf(all)
  const hooks = settings.sink === undefined ? hooksOf(settings) : []
  const make = sink === undefined ? () => urlsSink(hooks, all) : ownSink(sink, sharedSecret, all)
  const destination = openDestination(make, enabled, all, (outcome) =>
    onOutcome({ destination: name, outcome }),
  )
  if (all.whenFull === 'deadLetter' && destination.addDeadLetter === undefined) {
    void destination.close({ timeout: 0 })
    throw new ConfigError('Invalid settings of a collector', [{ path: 'outbox', message: NO_DEAD_LETTERS }])
  }
  const prepare: Opened['prepare'] = (next) => {
    const hooks = next.sink === undefined ? hooksOf(next) : []
    return () => destination.change(hooks, next.enabled)
  }
  return { name, destination, settings, isGone: false, prepare }
}

/** The error of a destination whose outbox cannot be opened. */
const withName = (name: string, at: number, error: unknown): unknown => {
  if (error instanceof ConfigError) {
    const place = `destinations[${String(at)}]`
    const faults = error.faults.map((each) => ({ ...each, path: `${place}${each.path && `.${each.path}`}` }))
    return Object.assign(new ConfigError('Invalid settings of a collector', faults), { cause: error.cause })
  }
  if (!(error instanceof OutboxError)) return error
  const { reason, path, message } = error
  return new OutboxError(reason, path, `destination ${JSON.stringify(name)}: ${message}`)
}

/** Why settings cannot take the place of the present ones while the destination runs. */
const fixed = (before: DestinationSettings, next: DestinationSettings, at: string): ReadonlyArray<Fault> => {
  const isSame = {
    sink: before.sink === next.sink,
    outbox: JSON.stringify(before.outbox) === JSON.stringify(next.outbox),
    sharedSecret: next.sink === undefined || isSameSecret(before.sharedSecret, next.sharedSecret),
  }
  const message = 'cannot change while the destination runs: give it another name'
  return Object.entries(isSame).flatMap(([key, is]) => (is ? [] : [{ path: `${at}.${key}`, message }]))
}

/** Opens all destinations, or none: if one folder cannot be opened, the others are closed again. */
export const openTargets = (
  settings: CollectorSettings,
  options: CheckedCollectorOptions,
  onOutcome: (outcome: DestinationOutcome) => void,
  closeFailed: (error: unknown) => void,
) => {
  const openAll = (all: ReadonlyArray<DestinationSettings>, listed: ReadonlyArray<DestinationSettings>) => {
    const opened: Opened[] = []
    for (const each of all)
      try {
        opened.push(openTarget(each, options, onOutcome))
      } catch (error) {
        for (const { destination } of opened) void destination.close({ timeout: 0 })
        throw withName(each.name, listed.indexOf(each), error)
      }
    return opened
  }
  let targets: ReadonlyArray<Opened> = openAll(settings.destinations, settings.destinations)
  /** They send their waiting events, and close. */
  const leaving = new Set<Opened>()
  let past = sumOf([])

  const leave = (target: Opened): void => {
    target.isGone = true
    leaving.add(target)
    const close = async (): Promise<void> => {
      await target.destination.idle()
      // It may have come back.
      if (!target.isGone || !leaving.has(target)) return
      const { totals } = await target.destination.close()
      if (leaving.delete(target)) past = sumOf([past, totals])
    }
    close().catch(closeFailed)
  }

  return {
    current: (): ReadonlyArray<Target> => targets,
    /** All or nothing. One that is still sending its waiting events comes back under its name. */
    update: ({ destinations }: CollectorSettings): Either<ReadonlyArray<Fault>, void> => {
      const faults: Fault[] = []
      const changes: Array<() => void> = []
      const back = [...targets, ...leaving].filter(({ destination }) => !destination.isClosing())
      const added: DestinationSettings[] = []
      for (const [at, next] of destinations.entries()) {
        const known = back.find(({ name }) => name === next.name)
        const path = `destinations[${String(at)}]`
        if (known === undefined) added.push(next)
        else {
          const change = orFaults(() => known.prepare(next))
          const wrong = isLeft(change) ? change.left : []
          faults.push(...fixed(known.settings, next, path))
          faults.push(...wrong.map((each) => ({ ...each, path: `${path}.${each.path}` })))
          changes.push(() => {
            known.settings = next
            known.isGone = false
            leaving.delete(known)
            if (!isLeft(change)) change.right()
          })
        }
      }
      if (faults.length > 0) return left(faults)
      const opened = orFaults(() => openAll(added, destinations))
      if (isLeft(opened)) return opened
      for (const change of changes) change()
      const before = targets
      const all = [...opened.right, ...back]
      targets = destinations.flatMap(({ name }) => all.find((each) => each.name === name) ?? [])
      for (const target of before) if (!targets.includes(target)) leave(target)
      return right(undefined)
    },
    idle: async (): Promise<Totals> => {
      const all = [...targets, ...leaving].map(({ destination }) => destination.idle())
      return sumOf([past, ...(await Promise.all(all))])
    },
    close: async (...given: Parameters<Collector['close']>) => {
      const all = [...targets, ...leaving]
      leaving.clear()
      const closed = await Promise.all(all.map(({ destination }) => destination.close(...given)))
      const abandoned = new Map<string, ReadonlyArray<Payload<Event>>>()
      for (const [at, { name }] of all.entries())
        abandoned.set(name, [...(abandoned.get(name) ?? []), ...(closed[at]?.abandoned ?? [])])
      const totals = sumOf([past, ...closed.map(({ totals }) => totals)])
      return { totals, abandoned: Object.fromEntries(abandoned) }
    },
  }
}

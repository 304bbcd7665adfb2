import type { LookupAddress, LookupAllOptions } from 'node:dns'
import type { Clock } from '../core/clock.ts'

type Found = (error: NodeJS.ErrnoException | null, found: ReadonlyArray<LookupAddress>) => void

/** Finds every address of a name. */
export type Lookup = (name: string, options: LookupAllOptions, done: Found) => void

interface Job {
  readonly name: string
  readonly options: LookupAllOptions
  /** Empty once there is an answer. */
  readonly callers: Found[]
  readonly isSlow: boolean
  /** Whether it took longer than `PATIENCE`. */
  isLate: boolean
  isAskedDirectly: boolean
}

/** Milliseconds for a look-up before something else is tried. */
export const PATIENCE = 250

/** A look-up that took longer, in milliseconds, is slow. */
const SLOW = 1_000
/** Slow names that are remembered. */
const MAX_SLOW_NAMES = 10_000

/**
 * At most `max` look-ups at a time, because each one occupies a thread until the system gives up, and nothing can cancel it. Names whose
 * last look-up was slow have half of the places, so a silent name server delays its own names and no others. Look-ups of one name at
 * the same time are one. One that waits or runs for longer than `PATIENCE` is asked of `direct` too, which occupies no thread: the first
 * that finds addresses answers. That `direct` finds none is no answer.
 */
export const lookupGate = (lookup: Lookup, direct: Lookup, max: number, clock: Clock): Lookup => {
  const maxSlow = Math.max(1, Math.floor(max / 2))
  const jobs = new Map<string, Job>()
  const slowNames = new Set<string>()
  const waiting: Job[] = []
  const waitingSlow: Job[] = []
  let running = 0
  let runningSlow = 0

  const answer = ({ callers }: Job, ...found: Parameters<Found>): void => {
    for (const caller of callers.splice(0)) caller(...found)
  }

  const askDirectly = (job: Job): void => {
    if (job.isAskedDirectly || job.callers.length === 0) return
    job.isAskedDirectly = true
    direct(job.name, job.options, (error, found) => {
      job.isAskedDirectly = false
      if (error === null && found.length > 0) answer(job, null, found)
    })
  }

  const start = (job: Job): void => {
    const { name, options, isSlow } = job
    if (job.callers.length === 0) {
      jobs.delete(name)
      return
    }
    const startedAt = clock.monotonic()
    running++
    if (isSlow) runningSlow++
    lookup(name, options, (error, found) => {
      running--
      if (isSlow) runningSlow--
      jobs.delete(name)
      if (slowNames.size >= MAX_SLOW_NAMES) slowNames.clear()
      if (clock.monotonic() - startedAt > SLOW) slowNames.add(name)
      else slowNames.delete(name)
      answer(job, error, found)
      startWaiting()
    })
  }

  const startWaiting = (): void => {
    while (running < max) {
      const job = waiting.shift() ?? (runningSlow < maxSlow ? waitingSlow.shift() : undefined)
      if (job === undefined) return
      start(job)
    }
  }

  return (name, options, done) => {
    const known = jobs.get(name)
    if (known !== undefined) {
      known.callers.push(done)
      if (known.isLate) askDirectly(known)
      return
    }
    const isSlow = slowNames.has(name)
    const job: Job = { name, options, callers: [done], isSlow, isLate: false, isAskedDirectly: false }
    jobs.set(name, job)
    clock.schedule(PATIENCE, () => {
      job.isLate = true
      askDirectly(job)
    })
    const queue = isSlow ? waitingSlow : waiting
    queue.push(job)
    startWaiting()
  }
}

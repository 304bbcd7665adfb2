/**
 * A client in its simplest form: lists, one moment after the other, and no I/O. One request at a time, a fixed delay between attempts, and
 * an endpoint that has one of four moods. It says what a real one must do, to the millisecond.
 */
import { modelFlushes } from './modelFlushes.ts'
import { modelTelling } from './modelTelling.ts'
import { modelTime } from './modelTime.ts'
import type { Timer } from './modelTime.ts'
import { frameBytes } from '../../src/event/payload.ts'
import { trackingFrame } from '../../src/event/trackingMessage.ts'
import type { Model } from './clientSeen.ts'
import { BACKOFF, FLUSH_AFTER, LATENCY, TIMEOUT } from '../client/commands.ts'
import type { Mode, Setting } from '../client/commands.ts'

interface Waiting {
  readonly id: string
  readonly bytes: number
}

interface Batch {
  readonly members: ReadonlyArray<Waiting>
  attempts: number
  firstAttemptAt: number | undefined
  state: 'fresh' | 'parked' | 'running'
}

export const model = ({ size, maxBatch, maxCount, maxBytes, overflow, within }: Setting): Model => {
  const time = modelTime()
  const { now, schedule } = time
  const counts = { accepted: 0, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 }
  const { outcomes, onEvent, tellsOfDrop, react } = modelTelling(now)
  const requests: string[] = []
  let live: Waiting[] = []
  const queue: Batch[] = []
  let open: Waiting[] = []
  let lastFlush = 0
  let delay: Timer | undefined
  let alarm: Timer | undefined
  let mode: Mode = 'ok'
  let refused = 0
  /** Somebody was turned away, and nothing has ended since. */
  let tooMany = false
  let batches = 0
  /** Room is being made for a message, and is kept for it. */
  let reserved: Waiting | undefined
  let closing: { readonly until: number; resting: boolean } | undefined
  let closedAt: number | undefined

  const bytes = (): number => live.reduce((sum, each) => sum + each.bytes, 0)
  const flushes = modelFlushes(
    () => `${String(now())} ${JSON.stringify({ ...counts, waiting: live.length })}`,
  )

  const end = (message: Waiting, tag: keyof typeof counts, attempts: number): void => {
    live = live.filter((each) => each !== message)
    counts[tag]++
    onEvent(`${tag} ${message.id} ${String(attempts)}`)
  }

  const endAll = (members: ReadonlyArray<Waiting>, tag: keyof typeof counts, attempts: number): void => {
    for (const message of members) end(message, tag, attempts)
    flushes.ended(members.map(({ id }) => id))
    tooMany = false
  }

  const endBatch = ({ members, attempts }: Batch, tag: keyof typeof counts): void => {
    endAll(members, tag, attempts)
  }

  const pump = (): void => {
    const head = queue[0]
    if (head?.state !== 'fresh' || closing?.resting === true) return
    head.state = 'running'
    head.firstAttemptAt ??= now()
    requests.push(`${String(now())} ${head.members.map(({ id }) => id).join()}`)
    const answer = mode
    schedule(answer === 'hang' ? TIMEOUT : LATENCY, () => {
      settle(head, answer)
    })
  }

  const settle = (head: Batch, answer: Mode): void => {
    head.attempts++
    const due = now() + BACKOFF
    if (answer === 'ok' || answer === 'gone' || due >= (head.firstAttemptAt ?? 0) + within) {
      queue.shift()
      endBatch(head, answer === 'ok' ? 'delivered' : answer === 'gone' ? 'rejected' : 'expired')
      pump()
    } else {
      head.state = 'parked'
      alarm = schedule(BACKOFF, () => {
        head.state = 'fresh'
        pump()
      })
    }
    checkClose()
  }

  const closeOpen = (): void => {
    if (open.length === 0) return
    queue.push({ members: open, attempts: 0, firstAttemptAt: undefined, state: 'fresh' })
    batches++
    open = []
    stopDelay()
    lastFlush = now()
  }

  const stopDelay = (): void => {
    if (delay !== undefined) delay.cancelled = true
    delay = undefined
  }

  const openBytes = (): number =>
    frameBytes(trackingFrame) + open.reduce((sum, each) => sum + each.bytes + 1, open.length > 0 ? -1 : 0)

  const put = (message: Waiting): void => {
    if (open.length > 0 && openBytes() + 1 + message.bytes > maxBatch) closeOpen()
    open.push(message)
    if (open.length >= size || openBytes() >= maxBatch) closeOpen()
    else if (delay === undefined) {
      const wait = lastFlush + FLUSH_AFTER - now()
      if (wait <= 0) closeOpen()
      else
        delay = schedule(wait, () => {
          delay = undefined
          closeOpen()
          pump()
        })
    }
  }

  const dropOldest = (): boolean => {
    const at = queue.findIndex(({ state }) => state !== 'running')
    const [oldest] = at < 0 ? [] : queue.splice(at, 1)
    if (oldest !== undefined) {
      if (oldest.state === 'parked' && alarm !== undefined) alarm.cancelled = true
      endBatch(oldest, 'dropped')
      pump()
      return true
    }
    const members = open
    open = []
    stopDelay()
    endAll(members, 'dropped', 0)
    return members.length > 0
  }

  const isFull = (message: Waiting): boolean =>
    live.length + (reserved === undefined ? 0 : 1) >= maxCount ||
    bytes() + (reserved?.bytes ?? 0) + message.bytes > maxBytes

  const finish = (): void => {
    if (closedAt !== undefined) return
    closedAt = now()
    if (alarm !== undefined) alarm.cancelled = true
    for (const batch of queue.splice(0)) endBatch(batch, 'abandoned')
  }

  const checkClose = (): void => {
    if (closing === undefined || closedAt !== undefined) return
    const [head] = queue
    if (head?.state === 'running') return
    const due = head?.state === 'parked' ? (alarm?.at ?? Infinity) : Infinity
    if (head === undefined || closing.resting || due >= closing.until) finish()
  }

  return {
    track: (id, length) => {
      if (closing !== undefined) {
        refused++
        return 'Closed'
      }
      const message = { id, bytes: length }
      if (isFull(message) && queue.length === 0) {
        closeOpen()
        pump()
      }
      const drops = overflow !== 'error' && !tellsOfDrop()
      let dropped = drops && overflow === 'dropOldest'
      while (dropped && isFull(message)) {
        reserved = message
        dropped = dropOldest()
        reserved = undefined
      }
      const full = isFull(message)
      if (full && !drops) {
        refused++
        tooMany = true
        return 'Full'
      }
      counts.accepted++
      live.push(message)
      if (full) {
        end(message, 'dropped', 0)
        tooMany = false
      } else {
        const before = batches
        flushes.began(id)
        put(message)
        // Full, and nothing on its way: what is there goes.
        if (isFull({ id: '', bytes: 1 }) && queue.length === 0) closeOpen()
        if (batches > before) pump()
      }
      return 'Accepted'
    },
    tick: (ms) => {
      time.tick(ms)
    },
    server: (next) => {
      mode = next
    },
    flush: (timeout) => {
      closeOpen()
      const giveUp = flushes.flush()
      if (timeout !== undefined) schedule(timeout, giveUp)
      pump()
    },
    react,
    close: (timeout) => {
      if (closing !== undefined) return
      closing = { until: now() + timeout, resting: false }
      closeOpen()
      pump()
      schedule(timeout, () => {
        if (closing !== undefined) closing.resting = true
        checkClose()
      })
      checkClose()
    },
    hasRoom: () =>
      closing !== undefined ||
      (live.length < maxCount && bytes() < maxBytes && !(tooMany && live.length > 0)),
    seen: () => ({
      outcomes,
      requests,
      flushes: flushes.answers,
      stats: { ...counts, waiting: live.length, bytes: bytes(), refused, batches },
      closedAt,
    }),
  }
}

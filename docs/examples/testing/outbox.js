// An outbox of our own: a list in memory.
import { left, right } from 'fp-ts/lib/Either.js'
import { isDead } from 'headrace'

export const ourOutbox = ({ clock, bounds }) => {
  const { maxCount, maxBytes, keepDead } = bounds
  let waiting = [] // { entry, due, isLeased }; a new entry has no due time
  let dead = []
  let ids = 0

  const bytes = () => waiting.reduce((sum, { entry }) => sum + entry.item.byteLength, 0)
  const newEntry = (item) => ({ id: String(++ids), item, firstAttemptAt: undefined, progress: undefined })
  const add = (item) => {
    const isFull = (bound, limit) => left({ _tag: 'Full', bound, limit, input: item })
    if (waiting.length >= maxCount) return isFull('count', maxCount)
    if (bytes() + item.byteLength > maxBytes) return isFull('bytes', maxBytes)
    const entry = newEntry(item)
    waiting.push({ entry, due: undefined, isLeased: false })
    return right(entry)
  }
  const bury = (entry, outcome) => {
    dead.push({ reason: 'ended', id: String(++ids), at: clock.now(), entry, outcome })
    dead = keepDead === 0 ? [] : dead.slice(-keepDead)
  }
  const free = (isRetry) =>
    waiting.filter(({ isLeased, due }) => !isLeased && isRetry === (due !== undefined))
  const retriesByDue = () => free(true).sort((one, other) => one.due - other.due)

  return {
    keeps: () => false,
    enqueue: (items) => items.map(add),
    lease: (now, { count, retries, retriesOnly = false }) => {
      const due = retriesByDue().filter((each) => each.due <= now)
      const first = due.slice(0, Math.min(count, retries))
      const fresh = retriesOnly ? [] : free(false).slice(0, count - first.length)
      return [...first, ...fresh].map((each) => {
        each.isLeased = true
        return each.entry
      })
    },
    nack: (list) => {
      for (const { entry, due } of list) {
        const found = waiting.find((each) => each.entry.id === entry.id)
        if (found !== undefined) Object.assign(found, { entry, due, isLeased: false })
      }
    },
    ack: (list) => {
      for (const { entry, outcome } of list) {
        waiting = waiting.filter((each) => each.entry.id !== entry.id)
        if (isDead(outcome)) bury(entry, outcome)
      }
    },
    addDeadLetter: (item, outcome) => bury(newEntry(item), outcome),
    takeRemaining: () => {
      const remaining = waiting.filter(({ isLeased }) => !isLeased)
      waiting = waiting.filter(({ isLeased }) => isLeased)
      return remaining.map(({ entry }) => entry)
    },
    nextDue: (retriesOnly = false) => (!retriesOnly && free(false).length > 0 ? 0 : retriesByDue()[0]?.due),
    dead: {
      list: ({ after = '0', limit = 1_000 } = {}) =>
        dead.filter(({ id }) => Number(id) > Number(after)).slice(0, limit),
      redrive: (matches) => {
        const moved = dead.filter((each) => matches(each) && add(each.entry.item)._tag === 'Right')
        dead = dead.filter((each) => !moved.includes(each))
        return moved.map(({ id }) => id)
      },
      purge: (matches) => {
        const before = dead.length
        dead = dead.filter((each) => !matches(each))
        return before - dead.length
      },
    },
    stats: () => ({ waiting: waiting.length, bytes: bytes(), dead: dead.length, maxCount, maxBytes }),
    close: () => Promise.resolve(),
  }
}

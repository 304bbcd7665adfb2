/** Lanes with one planted mistake each, and one without, written apart from the real ones. */
import { left } from 'fp-ts/lib/Either.js'
import { retryable } from '../../src/core/failure.ts'
import { fromRun, type Receiver, runOf } from '../../src/sink/layer.ts'
import type { Attempt } from '../../src/sink/sink.ts'
import type { Item, MakeLimiting } from '../laws/limitingWorld.ts'

const mistakes = [
  'frees the place at the verdict',
  'keeps the place of a defect',
  'serves the last first',
  'lets one too many wait',
  'lets one too few wait',
  'lets one too many run',
  'does not look at the deadline',
  'takes the deadline itself for early enough',
  'calls late one millisecond too soon',
  'looks at the deadline at arrival only',
  'does not free the place of one that is cancelled while it waits',
  'does not free the place of one that is cancelled while it runs',
  'starts one that was cancelled',
  'starts the next in the middle of a cancel',
  'remembers every lane',
  'has one lane for all keys',
  'has a lane for each item',
  'recurses',
  'does not cancel inside',
  'drops what is late without a word',
  'turns away without an end',
] as const

type Mistake = (typeof mistakes)[number] | 'none'

interface Held {
  readonly item: Item
  readonly attempt: Attempt
  to: Receiver | undefined
  cancel: (() => void) | undefined
  running: boolean
}

interface Lane {
  waiting: Held[]
  head: number
  running: number
  ghosts: number
  busy: boolean
}

const plain =
  (mistake: Mistake): MakeLimiting =>
  (inner, { concurrency: asked, queue: room, by }, clock) => {
    const concurrency = mistake === 'lets one too many run' ? asked + 1 : asked
    const queue =
      room + (mistake === 'lets one too many wait' ? 1 : mistake === 'lets one too few wait' ? -1 : 0)
    const lanes = new Map<unknown, Lane>()
    const run = runOf(inner)

    const keyOf = (item: Item): unknown => {
      if (mistake === 'has one lane for all keys') return 0
      if (mistake === 'has a lane for each item') return item.id
      return by === undefined ? 0 : by(item)
    }
    const waitingIn = (lane: Lane): number => lane.waiting.length - lane.head
    const isLate = (until: number): boolean => {
      if (mistake === 'does not look at the deadline') return false
      if (mistake === 'takes the deadline itself for early enough') return clock.now() > until
      if (mistake === 'calls late one millisecond too soon') return clock.now() >= until - 1
      return clock.now() >= until
    }
    const late = (held: Held): void => {
      if (mistake === 'drops what is late without a word') return
      held.to?.next(left(retryable('late')))
      const { to } = held
      held.to = undefined
      to?.complete()
    }
    const forget = (key: unknown, lane: Lane): void => {
      if (mistake === 'remembers every lane' || lane.busy) return
      if (lane.running === 0 && waitingIn(lane) === 0) lanes.delete(key)
    }

    const begin = (key: unknown, lane: Lane, held: Held): void => {
      if (mistake !== 'looks at the deadline at arrival only' && isLate(held.attempt.until)) {
        late(held)
        return
      }
      let free = false
      const leave = (): void => {
        if (!free) lane.running--
        free = true
      }
      lane.running++
      held.running = true
      const cancel = run(held.item, held.attempt, {
        next: (verdict) => {
          held.to?.next(verdict)
          if (mistake === 'frees the place at the verdict' && held.to !== undefined) {
            leave()
            drain(key, lane)
          }
        },
        complete: () => {
          const { to } = held
          if (to === undefined) return
          held.to = undefined
          leave()
          to.complete()
          drain(key, lane)
        },
        error: (defect) => {
          const { to } = held
          if (to === undefined) return
          held.to = undefined
          if (mistake !== 'keeps the place of a defect') leave()
          to.error(defect)
          drain(key, lane)
        },
      })
      if (held.to === undefined) cancel()
      else
        held.cancel = () => {
          if (mistake !== 'does not cancel inside') cancel()
          if (mistake !== 'does not free the place of one that is cancelled while it runs') leave()
        }
    }

    const takeNext = (lane: Lane): Held | undefined => {
      if (waitingIn(lane) === 0) return undefined
      if (mistake === 'serves the last first') return lane.waiting.pop()
      return lane.waiting[lane.head++]
    }

    const drain = (key: unknown, lane: Lane): void => {
      if (lane.busy && mistake !== 'recurses') return
      lane.busy = true
      while (lane.running < concurrency) {
        const held = takeNext(lane)
        if (held === undefined) break
        begin(key, lane, held)
      }
      lane.busy = false
      forget(key, lane)
    }

    const sink = fromRun<Item>(
      inner.name,
      (item, attempt, receiver) => {
        const key = keyOf(item)
        const lane = lanes.get(key) ?? { waiting: [], head: 0, running: 0, ghosts: 0, busy: false }
        lanes.set(key, lane)
        if (lane.running + waitingIn(lane) + lane.ghosts >= concurrency + queue) {
          forget(key, lane)
          receiver.next(left(retryable('laneFull')))
          if (mistake !== 'turns away without an end') receiver.complete()
          return () => {}
        }
        const held: Held = { item, attempt, to: receiver, cancel: undefined, running: false }
        if (mistake === 'looks at the deadline at arrival only' && isLate(attempt.until)) {
          late(held)
          return () => {}
        }
        lane.waiting.push(held)
        drain(key, lane)
        return () => {
          if (held.to === undefined) return
          held.to = undefined
          if (held.running) {
            held.cancel?.()
            if (mistake === 'starts the next in the middle of a cancel') drain(key, lane)
            else
              queueMicrotask(() => {
                drain(key, lane)
              })
            return
          }
          if (mistake === 'starts one that was cancelled') return
          if (mistake === 'does not free the place of one that is cancelled while it waits') lane.ghosts++
          const rest = lane.waiting.slice(lane.head).filter((other) => other !== held)
          lane.waiting = rest
          lane.head = 0
          forget(key, lane)
        }
      },
      inner.close,
    )
    return { sink, lanes: () => lanes.size }
  }

export const plainLimiting: MakeLimiting = plain('none')

export const limitingMutants: ReadonlyArray<{ readonly name: string; readonly make: MakeLimiting }> =
  mistakes.map((name) => ({ name, make: plain(name) }))

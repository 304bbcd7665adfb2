/** Timeouts with one planted mistake each, and one without (but for its timers), written apart from the real one. */
import { left } from 'fp-ts/lib/Either.js'
import { type Failure, refused, retryable } from '../../src/core/failure.ts'
import { fromRun, runOf } from '../../src/sink/layer.ts'
import type { MakeTimingOut } from '../laws/withTimeout.ts'

const mistakes = [
  'lets the limit itself pass',
  'is one millisecond too early',
  'is one millisecond too late',
  'gives the drain as long again',
  'does not limit the drain',
  'does not cancel inside',
  'does not complete after a timeout',
  'tells a timeout after a verdict',
  'tells a late verdict too',
  'keeps its timer after the end',
  'keeps its timer after a cancel',
  'goes on after a cancel',
  'refuses for good',
  'errors in place of a verdict',
  'looks only every ten milliseconds',
  'takes the newest for the oldest',
  'has a timer for each delivery',
] as const

type Mistake = (typeof mistakes)[number]

interface Running {
  readonly start: number
  readonly expire: () => void
}

const plain =
  (mistake: Mistake | 'none'): MakeTimingOut =>
  (asked, clock) => {
    const within =
      asked +
      (mistake === 'is one millisecond too early' ? -1 : mistake === 'is one millisecond too late' ? 1 : 0)
    const all = new Set<Running>()
    let timer: (() => void) | undefined
    const single = mistake !== 'has a timer for each delivery'

    const first = (): Running | undefined => {
      const order = [...all]
      return mistake === 'takes the newest for the oldest' ? order.at(-1) : order[0]
    }
    const arm = (): void => {
      const oldest = first()
      if (timer !== undefined || oldest === undefined) return
      const left = within - (clock.monotonic() - oldest.start)
      timer = clock.schedule(mistake === 'looks only every ten milliseconds' ? 10 : left, () => {
        timer = undefined
        for (const each of [...all]) if (clock.monotonic() - each.start >= within) each.expire()
        arm()
      })
    }
    const leave = (running: Running, keep: boolean): void => {
      all.delete(running)
      if (all.size > 0 || keep) return
      timer?.()
      timer = undefined
    }
    const failure: Failure = mistake === 'refuses for good' ? refused('timeout') : retryable('timeout')

    return (sink) =>
      fromRun(
        sink.name,
        (item, attempt, receiver) => {
          let told = false
          let over = false
          let cancelInner = (): void => {}
          let own: (() => void) | undefined
          const finish = (keep: boolean): boolean => {
            leave(running, keep)
            own?.()
            if (over) return false
            over = true
            return true
          }
          const running: Running = {
            start: clock.monotonic(),
            expire: () => {
              if (mistake === 'does not limit the drain' && told) {
                leave(running, false)
                return
              }
              if (mistake === 'gives the drain as long again' && told) {
                if (clock.monotonic() - running.start < 2 * within) return
              }
              if (mistake !== 'does not cancel inside') cancelInner()
              if (mistake === 'errors in place of a verdict' && !told) {
                if (finish(false)) receiver.error(failure)
                return
              }
              if ((!told || mistake === 'tells a timeout after a verdict') && !over)
                receiver.next(left(failure))
              const last = finish(false)
              if (last && mistake !== 'does not complete after a timeout') receiver.complete()
              if (mistake === 'tells a late verdict too') over = false
            },
          }
          all.add(running)
          cancelInner = runOf(sink)(item, attempt, {
            next: (verdict) => {
              if (over) return
              if (clock.monotonic() - running.start >= within && mistake !== 'lets the limit itself pass') {
                running.expire()
                if (mistake !== 'tells a late verdict too') return
              }
              told = true
              receiver.next(verdict)
            },
            complete: () => {
              if (finish(mistake === 'keeps its timer after the end')) receiver.complete()
            },
            error: (defect) => {
              if (finish(mistake === 'keeps its timer after the end')) receiver.error(defect)
            },
          })
          if (all.has(running)) {
            if (single) arm()
            else own = clock.schedule(within, running.expire)
          } else cancelInner()
          return () => {
            if (mistake === 'goes on after a cancel') return
            over = true
            leave(running, mistake === 'keeps its timer after a cancel')
            own?.()
            cancelInner()
          }
        },
        sink.close,
      )
  }

export const plainTimingOut: MakeTimingOut = plain('none')

export const timingOutMutants: ReadonlyArray<{ readonly name: string; readonly make: MakeTimingOut }> =
  mistakes.map((name) => ({ name, make: plain(name) }))

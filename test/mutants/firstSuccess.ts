/** First successes with one planted mistake each, and one without, written apart from the real one. */
import { left } from 'fp-ts/lib/Either.js'
import { type Cause, allFailed, type Failure, retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { fromRun, runOf } from '../../src/sink/layer.ts'
import type { MakeFirstSuccess } from '../laws/firstSuccessWorld.ts'

const mistakes = [
  'aborts the siblings at a success',
  'asks a sink that refused for good',
  'ignores notBefore',
  'holds back at notBefore itself',
  'tells two verdicts',
  'gives the causes in the order of arrival',
  'forgets the causes it did not ask for',
  'completes at the verdict',
  'gives each sink the whole past',
  'waits for all before it tells',
  'asks one after the other',
  'gives each sink a shared of its own',
  'lets a defect through',
  'does not cancel',
  'goes on talking after a cancel',
  'counts a first failure as the verdict',
  'numbers the attempt anew',
  'forgets the deadline',
  'remembers by position',
] as const

type Mistake = (typeof mistakes)[number] | 'none'

const plain =
  (mistake: Mistake): MakeFirstSuccess =>
  (sinks, clock) => {
    const pastOf = (lastFailure: Failure | undefined, name: string, at: number): Failure | undefined => {
      if (lastFailure?._tag !== 'AllFailed') return undefined
      return mistake === 'remembers by position'
        ? lastFailure.causes[at]?.failure
        : lastFailure.causes.find((cause) => cause.sink === name)?.failure
    }
    const isLive = (past: Failure | undefined): boolean => {
      if (past === undefined) return true
      if (past._tag !== 'Retryable') return mistake === 'asks a sink that refused for good'
      if (mistake === 'ignores notBefore') return true
      const notBefore = past.notBefore ?? 0
      return mistake === 'holds back at notBefore itself' ? notBefore < clock.now() : notBefore <= clock.now()
    }
    return fromRun(
      'mutant',
      (item, attempt, receiver) => {
        const pasts = sinks.map((sink, at) => pastOf(attempt.lastFailure, sink.name, at))
        const live = pasts.map(isLive)
        const answers = new Map<number, Verdict>()
        const cancels = new Map<number, () => void>()
        const shared = { wire: undefined }
        const several = live.filter(Boolean).length > 1
        let running = live.filter(Boolean).length
        let told = 0
        let over = false
        let starting = true

        const causes = (): Cause[] => {
          const failures = new Map<number, Failure>()
          if (mistake === 'gives the causes in the order of arrival') {
            for (const [at, answer] of answers) if (answer._tag === 'Left') failures.set(at, answer.left)
          }
          sinks.forEach((_, at) => {
            const answer = answers.get(at)
            const past = mistake === 'forgets the causes it did not ask for' ? undefined : pasts[at]
            const failure = answer?._tag === 'Left' ? answer.left : past
            if (failure !== undefined && !failures.has(at)) failures.set(at, failure)
          })
          return [...failures].map(([at, failure]) => ({ sink: sinks[at]?.name ?? '', failure }))
        }
        const verdict = (): Verdict | undefined => {
          const all = [...answers.values()]
          const success = [...answers]
            .filter(([, answer]) => answer._tag === 'Right')
            .map(([, answer]) => answer)
            .at(mistake === 'tells two verdicts' ? told : 0)
          if (success !== undefined && (mistake !== 'waits for all before it tells' || running === 0))
            return success
          const awaited = live.filter(Boolean).length - all.length
          if (mistake === 'counts a first failure as the verdict' && all.length > 0)
            return left(allFailed(causes()))
          return awaited === 0 && success === undefined ? left(allFailed(causes())) : undefined
        }
        const most = mistake === 'tells two verdicts' ? 2 : 1
        const proceed = (): void => {
          if (starting) return
          const found = verdict()
          if (!over && told < most && found !== undefined && (told === 0 || found._tag === 'Right')) {
            told++
            receiver.next(found)
            if (mistake === 'completes at the verdict') {
              over = true
              receiver.complete()
            }
            if (mistake === 'aborts the siblings at a success' && found._tag === 'Right') {
              for (const cancel of cancels.values()) cancel()
              running = 0
            }
          }
          if (running === 0 && !over) {
            over = true
            receiver.complete()
          }
        }
        const ask = (at: number): void => {
          const sink = sinks[at]
          if (sink === undefined) return
          if (live[at] !== true) {
            if (mistake === 'asks one after the other') ask(at + 1)
            return
          }
          const lastFailure = mistake === 'gives each sink the whole past' ? attempt.lastFailure : pasts[at]
          const own = {
            number: mistake === 'numbers the attempt anew' ? 1 : attempt.number,
            until: mistake === 'forgets the deadline' ? Infinity : attempt.until,
            lastFailure,
          }
          const place = mistake === 'gives each sink a shared of its own' ? { wire: undefined } : shared
          const cancel = runOf(sink)(item, several ? { ...own, shared: place } : own, {
            next: (answer) => {
              answers.set(at, answer)
              proceed()
            },
            complete: () => {
              running--
              proceed()
              if (mistake === 'asks one after the other' && !over) ask(at + 1)
            },
            error: (defect) => {
              running--
              if (mistake === 'lets a defect through') {
                over = true
                receiver.error(defect)
                return
              }
              const detail = defect instanceof Error ? defect.message : ''
              if (!answers.has(at)) answers.set(at, left(retryable('defect', { detail })))
              proceed()
              if (mistake === 'asks one after the other' && !over) ask(at + 1)
            },
          })
          cancels.set(at, cancel)
        }
        if (mistake === 'asks one after the other') ask(0)
        else sinks.forEach((_, at) => ask(at))
        starting = false
        proceed()
        return () => {
          over = mistake !== 'goes on talking after a cancel'
          if (mistake === 'does not cancel' || !over) return
          for (const cancel of cancels.values()) cancel()
        }
      },
      () => () => Promise.resolve(),
    )
  }

export const plainFirstSuccess: MakeFirstSuccess = plain('none')

export const firstSuccessMutants: ReadonlyArray<{ readonly name: string; readonly make: MakeFirstSuccess }> =
  mistakes.map((name) => ({ name, make: plain(name) }))

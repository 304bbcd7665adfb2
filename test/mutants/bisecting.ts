/** Bisections with one planted mistake each, and one without, written apart from the real one: by plain recursion. */
import { frameBytes } from '../../src/event/payload.ts'
import { left } from 'fp-ts/lib/Either.js'
import {
  type Failure,
  isFinal,
  isRetryable,
  retryable,
  partlyFailed,
  wasStarted,
} from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { fromRun, runOf } from '../../src/sink/layer.ts'
import { ofMember } from '../laws/bisectingOracle.ts'
import type { Batch, MakeBisecting } from '../laws/bisectingWorld.ts'

const mistakes = [
  'sends the second half first',
  'sends both halves at once',
  'forgets what was taken before',
  'forgets what was refused before',
  'takes any memory for its own',
  'goes on after a failure that may pass',
  'lets halves start after the deadline',
  'divides every refusal',
  'never divides a 413',
  'sends one by one in place of halves',
  'does not send the batch itself first',
  'loses one member of an odd part',
  'counts a comma too many',
  'forgets the signer',
  'answers the members in reverse',
  'fails all for one',
  'is content when one half was taken',
  'makes success of what is left out',
  'keeps the running part at a cancel',
  'goes on with the next part after a cancel',
  'swallows a defect',
  'tells of a defect before what is known',
  'tells the verdict only at the end',
  'says that nothing was started when its halves were late',
  'forgets the deadline for its parts',
  'gives the parts the past of the whole',
  'puts every verdict into a PartlyFailed',
] as const

interface Request {
  answered: boolean
  done: boolean
}

type Mistake = (typeof mistakes)[number]

const part = (batch: Batch, list: ReadonlyArray<number>, mistake: Mistake | 'none'): Batch => {
  if (list.length === batch.members.length && mistake !== 'does not send the batch itself first') return batch
  const members = batch.members.filter((_, at) => list.includes(at))
  const extra = mistake === 'counts a comma too many' ? 1 : 0
  const sum = members.reduce((bytes, { byteLength }) => bytes + byteLength + 1, extra - 1)
  const { signer, ...rest } = batch
  return {
    ...rest,
    ...(signer === undefined || mistake === 'forgets the signer' ? {} : { signer }),
    members,
    items: members.map(({ items: [item] }) => item),
    byteLength: frameBytes(batch.frame) + sum,
  }
}

const pastOf = (
  lastFailure: Failure | undefined,
  count: number,
  list: ReadonlyArray<number>,
): Failure | undefined => {
  if (lastFailure?._tag !== 'PartlyFailed' || lastFailure.members.length !== count) return lastFailure
  const past = list.flatMap((at) => lastFailure.members[at] ?? [])
  const [first] = past
  const text = JSON.stringify(first)
  return first?._tag === 'Left' && past.every((each) => JSON.stringify(each) === text)
    ? first.left
    : partlyFailed(past)
}

const passing = (failure: Failure): Failure =>
  failure._tag === 'PartlyFailed'
    ? (failure.members.flatMap((each) =>
        each._tag === 'Left' && isRetryable(each.left) ? [each.left] : [],
      )[0] ?? failure)
    : failure

export const plainWith =
  (mistake: Mistake | 'none'): MakeBisecting =>
  (only, clock) =>
  (sink) =>
    fromRun(
      sink.name,
      (batch, attempt, receiver) => {
        const count = batch.members.length
        const { lastFailure } = attempt
        const members: Array<Verdict | undefined> = batch.members.map((_, at) => {
          if (lastFailure?._tag !== 'PartlyFailed') return undefined
          if (lastFailure.members.length !== count && mistake !== 'takes any memory for its own')
            return undefined
          const known = lastFailure.members[at]
          if (known === undefined || !isFinal(known)) return undefined
          if (mistake === 'forgets what was taken before' && known._tag === 'Right') return undefined
          return mistake === 'forgets what was refused before' && known._tag === 'Left' ? undefined : known
        })
        let stopped: Failure | undefined
        let halvedBy: number | undefined
        let over = false
        let told = false
        let defect: { readonly error: unknown } | undefined
        let cancelPart = (): void => {}
        let whole: Verdict | undefined
        /** Parts that are still to come, the next one first. */
        const open = members.flatMap((verdict, at) => (verdict === undefined ? [at] : []))
        const queue = open.length > 0 ? [open] : []
        if (mistake === 'sends one by one in place of halves' && open.length > 1)
          queue.splice(0, 1, ...open.map((at) => [at]))

        const verdictNow = (): Verdict => {
          if (whole !== undefined && mistake !== 'puts every verdict into a PartlyFailed') return whole
          const rest = stopped ?? retryable('late')
          const unsent =
            halvedBy !== undefined &&
            !wasStarted(rest) &&
            mistake !== 'says that nothing was started when its halves were late'
              ? retryable('halved', { status: halvedBy })
              : rest
          const missing: Verdict =
            mistake === 'makes success of what is left out'
              ? { _tag: 'Right', right: { sink: 'inner' } }
              : left(unsent)
          const all = members.map((each) => each ?? missing)
          if (mistake === 'answers the members in reverse') all.reverse()
          const failed = all.find(({ _tag }) => _tag === 'Left')
          if (mistake === 'is content when one half was taken' && all.some(({ _tag }) => _tag === 'Right'))
            return all.find(({ _tag }) => _tag === 'Right') ?? missing
          if (failed === undefined) return all[0] ?? missing
          if (mistake === 'fails all for one') return failed
          const same = all.every(
            (each) => each._tag === 'Left' && failed._tag === 'Left' && each.left === failed.left,
          )
          return same && mistake !== 'puts every verdict into a PartlyFailed'
            ? failed
            : left(partlyFailed(all))
        }
        const onEvent = (): void => {
          if (!told) receiver.next(verdictNow())
          told = true
        }
        const end = (): void => {
          if (over) return
          if (mistake === 'tells of a defect before what is known' && defect !== undefined) told = true
          onEvent()
          over = true
          if (defect === undefined || mistake === 'swallows a defect') receiver.complete()
          else receiver.error(defect.error)
        }
        const settle = (list: ReadonlyArray<number>, verdict: Verdict): void => {
          const failure = verdict._tag === 'Left' ? verdict.left : undefined
          const { status } = failure?._tag === 'Refused' ? failure : {}
          const divides =
            status !== undefined &&
            (only.includes(status) || (mistake === 'divides every refusal' && status !== 200)) &&
            !(mistake === 'never divides a 413' && status === 413)
          if (divides && list.length > 1) {
            halvedBy = status
            const middle = Math.ceil(list.length / 2)
            const lost = mistake === 'loses one member of an odd part' && list.length % 2 === 1 ? 1 : 0
            const halves = [list.slice(0, middle), list.slice(middle + lost)].filter(
              ({ length }) => length > 0,
            )
            if (mistake === 'sends the second half first') halves.reverse()
            queue.unshift(...halves)
            return
          }
          if (list.length === count) whole = verdict
          list.forEach((at, place) => (members[at] = ofMember(verdict, list.length, place)))
          if (failure === undefined || !isRetryable(failure)) return
          if (mistake === 'goes on after a failure that may pass') return
          stopped = passing(failure)
          if (halvedBy !== undefined && !wasStarted(failure)) for (const at of list) members[at] = undefined
          queue.length = 0
        }
        const next = (): void => {
          if (over) return
          const late =
            clock.monotonic() >= attempt.until && mistake !== 'lets halves start after the deadline'
          if (late && queue.length > 0) {
            stopped = retryable('late')
            queue.length = 0
          }
          const list = queue.shift()
          if (list === undefined) {
            end()
            return
          }
          const request: Request = { answered: false, done: false }
          const past =
            mistake === 'gives the parts the past of the whole'
              ? lastFailure
              : pastOf(lastFailure, count, list)
          const until =
            mistake === 'forgets the deadline for its parts' && list.length < count ? Infinity : attempt.until
          const cancel = runOf(sink)(
            part(batch, list, mistake),
            { ...attempt, until, lastFailure: past },
            {
              next: (verdict) => {
                if (over) return
                request.answered = true
                settle(list, verdict)
                if (queue.length === 0 && mistake !== 'tells the verdict only at the end') onEvent()
                if (mistake === 'sends both halves at once' && queue.length > 0) next()
              },
              complete: () => {
                request.done = true
                next()
              },
              error: (error) => {
                request.done = true
                if (over) return
                defect ??= { error }
                if (!request.answered) {
                  if (list.length === count) told = true
                  settle(list, left(retryable('defect', { detail: 'planted' })))
                }
                next()
              },
            },
          )
          if (!request.done) cancelPart = cancel
        }
        next()
        return () => {
          if (mistake !== 'goes on with the next part after a cancel') over = true
          if (mistake !== 'keeps the running part at a cancel') cancelPart()
          if (mistake === 'goes on with the next part after a cancel') next()
        }
      },
      sink.close,
    )

export const plainBisecting: MakeBisecting = plainWith('none')

export const bisectingMutants = mistakes.map((name) => ({ name, make: plainWith(name) }))

/** docs/marbles: each picture is what the script draws, and each diagram is what the operator does in virtual time. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { readFileSync } from 'node:fs'
import { map, of, Subject, type Observable } from 'rxjs'
import { expect, test } from 'vitest'
import { batch, deliver, enrich, failover, filterRight, firstSuccess } from '../src/index.ts'
import { exponential } from '../src/policy/index.ts'
import { flatMapRight, lift, mapRight, onlyAttempt, refused, retryable, route, sign } from '../src/index.ts'
import { toAll, withCircuitBreaker, withDedupe, withRateLimit, withTimeout } from '../src/index.ts'
import type { Clock, Sink, Verdict } from '../src/index.ts'
import { scriptedSink, virtualClock, type VirtualClock } from '../src/testing/index.ts'
import { diagrams, draw, marksOf, type Diagram, type Mark } from '../docs/marbles/draw.js'

test.each(diagrams())('$name.svg is drawn from marbles.txt: npm run docs:marbles', (diagram) => {
  const file = new URL(`../docs/marbles/${diagram.name}.svg`, import.meta.url)
  expect(readFileSync(file, 'utf8')).toBe(draw(diagram))
})

/** A sink that answers as its row says, and its row as it came to be. */
const scriptOf = (clock: Clock, { unit }: Diagram, [name, text]: readonly [string, string]) => {
  const marks = marksOf(text)
  const replies = marks.flatMap(([column, letter], at) => {
    const [end = 0, answer = ''] = marks[at + 1] ?? []
    if (/[+!]/.test(letter)) return []
    const verdict: Verdict = answer === '+' ? right({ sink: name }) : left(retryable('status'))
    return [/[+!]/.test(answer) ? { verdict, after: (end - column) * unit, sign: answer } : {}]
  })
  const sink = scriptedSink<string>({
    ...(name !== '' && { name }),
    clock,
    reply: (_, __, index) => replies[index] ?? {},
  })
  const seen = (): ReadonlyArray<Mark> =>
    sink.calls.flatMap(({ item, startedAt, verdictAt }, at): Mark[] => {
      const start: Mark = [startedAt / unit, item]
      return verdictAt === undefined ? [start] : [start, [verdictAt / unit, replies[at]?.sign ?? '']]
    })
  return { sink, seen }
}

const signOf = (verdict: Verdict): string => {
  if (verdict._tag === 'Right') return verdict.right.duplicate === true ? '=' : '+'
  return verdict.left._tag === 'Retryable' && verdict.left.reason === 'held' ? '~' : '!'
}

const retried = (sink: Sink<string>, clock: Clock): Sink<string> => ({
  ...sink,
  deliver: (item) =>
    of(item).pipe(
      lift(),
      deliver(sink, { clock, retry: exponential({ base: 60 }) }),
      map((end) => (end._tag === 'Delivered' ? right(end.receipt) : left(refused(end._tag)))),
    ),
})

const LAYERS: Readonly<Record<string, (clock: Clock, a: Sink<string>, b: Sink<string>) => Sink<string>>> = {
  firstSuccess: (_, near, far) => firstSuccess([near, far]),
  failover: (_, near, far) => failover([near, far]),
  toAll: (clock, archive, crm) => retried(toAll([archive, crm]), clock),
  route: (_, red, blue) =>
    route({ keyOf: (item: string) => item === 'b', open: (isBlue) => (isBlue ? blue : red) }),
  withRateLimit: (_, sink) => withRateLimit({ perSecond: 10, burst: 2 })(sink),
  withCircuitBreaker: (_, sink) => withCircuitBreaker({ failures: 2, openTimeout: 100 })(sink),
  withDedupe: (_, sink) => withDedupe({ keyOf: (item: string) => item, keyTimeout: 100 })(sink),
  withTimeout: (_, sink) => withTimeout({ timeout: 50 })(sink),
}

type Signs = Observable<Either<string, string>>
const sleep = (clock: Clock, ms: number) => new Promise<void>((done) => clock.schedule(ms, done))
const CLOSED_BY: Readonly<Record<string, string>> = { count: 'X', delay: 'Y', end: 'Z' }

type Drawn = (in$: Signs, clock: Clock, sink: Sink<string>) => Observable<string>
const OPERATORS: Readonly<Record<string, Drawn>> = {
  filterRight: (in$) =>
    in$.pipe(
      filterRight((item) => item === 'b'),
      map((each) => {
        if (each._tag === 'Right') return each.right
        return typeof each.left === 'string' ? each.left : each.left._tag === 'Skipped' ? 'A' : '?'
      }),
    ),
  flatMapRight: (in$) =>
    in$.pipe(
      flatMapRight((item) => (item === 'b' ? left('B') : right('A'))),
      map((each) => (each._tag === 'Right' ? each.right : typeof each.left === 'string' ? each.left : '?')),
    ),
  enrich: (in$, clock) =>
    in$.pipe(
      enrich(async (item) => sleep(clock, item === 'a' ? 60 : 20).then(() => item)),
      map((each) => (each._tag === 'Left' ? 'x' : each.right.toUpperCase())),
    ),
  batch: (in$, clock) =>
    in$.pipe(
      batch({ sizeOf: () => 1, maxCount: 2, maxDelay: 60, clock }),
      map((each) => (each._tag === 'Left' ? 'x' : (CLOSED_BY[each.right.closedBy] ?? '?'))),
    ),
  sign: (in$) =>
    in$.pipe(
      mapRight((id) => ({ id, items: [id] as const, text: id, byteLength: 1 })),
      sign('correct horse'),
      map((each) => (each._tag === 'Left' ? 'x' : each.right.id.toUpperCase())),
    ),
  deliver: (in$, clock, sink) =>
    in$.pipe(
      deliver(sink, { retry: exponential({ base: 80 }), clock }),
      map((end) => (typeof end === 'object' && end._tag === 'Delivered' ? end.item.toUpperCase() : '?')),
    ),
}

const play = async (diagram: Diagram): Promise<ReadonlyArray<ReadonlyArray<Mark>>> => {
  const { name, rows, unit } = diagram
  const clock: VirtualClock = virtualClock()
  const input = marksOf(rows[0]?.[1] ?? '')
  const [one, two] = [rows[1] ?? ['', ''], rows[2] ?? ['', '']].map((row) => scriptOf(clock, diagram, row))
  if (one === undefined || two === undefined) throw new Error('a diagram has two rows at least')
  const out: Mark[] = []
  const show = (letter: string): unknown => out.push([clock.monotonic() / unit, letter])
  const make = LAYERS[name]
  const in$ = new Subject<Either<string, string>>()
  const sink = make?.(clock, one.sink, two.sink)
  OPERATORS[name]?.(in$, clock, one.sink).subscribe({ next: show, complete: () => show('|') })
  for (const [column, letter] of input)
    clock.schedule(column * unit, () => {
      if (sink !== undefined)
        sink.deliver(letter, { ...onlyAttempt, clock }).subscribe((verdict) => show(signOf(verdict)))
      else if (letter === '|') in$.complete()
      else in$.next(letter === 'x' ? left(letter) : right(letter))
    })
  await clock.advance(60 * unit)
  return [input, ...[one, two].slice(0, rows.length - 2).map(({ seen }) => seen()), out]
}

test.each(diagrams())('what a diagram shows is what happens: $name', async (diagram) => {
  expect(await play(diagram)).toEqual(diagram.rows.map(([, text]) => marksOf(text)))
})

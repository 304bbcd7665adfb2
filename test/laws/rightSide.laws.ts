/** The operators for the right side: one output for each input, in order; a function that throws costs its item. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import * as fc from 'fast-check'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { from, lastValueFrom, tap, toArray, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { enrich, filterRight, flatMapRight, isRefusal, lift, mapRight, tapRight } from '../../src/index.ts'
import { holds, itKeeps, law, same, turns, type Drawn, type Law } from '../support/check.ts'

const item = fc.record({ n: fc.nat(9), throws: fc.boolean(), turns: fc.nat(4) })
type Item = Drawn<typeof item>
type Each = Either<string, Item>
type Op = (source: Observable<Each>) => Observable<Either<unknown, unknown>>

const each: fc.Arbitrary<Each> = fc.oneof(
  { weight: 4, arbitrary: item.map((one): Each => right(one)) },
  { weight: 1, arbitrary: fc.string().map((ended): Each => left(ended)) },
)
const stream = fc.array(each, { maxLength: 40, size: 'max' })

const outputs = (source: ReadonlyArray<Each>, operator: Op) =>
  lastValueFrom(from(source).pipe(operator, toArray()), { defaultValue: [] })

const call = ({ throws, n }: Item): number => {
  if (throws) throw new Error('planted')
  return n
}

/** What the operator makes of one item, in plain code; undefined for `Threw`. */
type Model = (one: Item) => Either<unknown, unknown> | undefined

const agrees = async (source: ReadonlyArray<Each>, operator: Op, model: Model): Promise<void> => {
  const found = await outputs(source, operator)
  same(found.length, source.length)
  for (const [at, given] of source.entries()) {
    const out = found[at]
    const expected = given._tag === 'Left' ? given : model(given.right)
    if (expected !== undefined) same(out, expected)
    else {
      const threw = out?._tag === 'Left' && isRefusal(out.left) ? out.left : undefined
      same([threw?._tag, threw?.input], ['Threw', given._tag === 'Right' && given.right])
    }
  }
}

const modelled = (id: string, operator: Op, model: Model): Law =>
  law(id, stream, (source) => agrees(source, operator, model))

const later = async (one: Item): Promise<number> => {
  await turns(one.turns)
  return call(one)
}

export interface RightSide {
  readonly mapRight: typeof mapRight
  readonly flatMapRight: typeof flatMapRight
  readonly filterRight: typeof filterRight
  readonly tapRight: typeof tapRight
  readonly enrich: typeof enrich
}

const pending = async (): Promise<number> => 1
const unfit: ReadonlyArray<readonly [keyof RightSide, () => unknown]> = [
  ['mapRight', pending],
  ['mapRight', () => right(1)],
  ['filterRight', pending],
  ['tapRight', pending],
  ['flatMapRight', pending],
  ['flatMapRight', () => 1],
  ['enrich', async () => left(1)],
]

export const rightSideLaws = (ops: RightSide): ReadonlyArray<Law> => [
  modelled('L1 mapRight changes items', ops.mapRight(call), (one) => (one.throws ? undefined : right(one.n))),
  modelled(
    'L2 filterRight passes what is wanted, the rest is Skipped',
    ops.filterRight((one: Item) => call(one) % 2 === 0),
    (one) => (one.throws ? undefined : one.n % 2 === 0 ? right(one) : left({ _tag: 'Skipped', item: one })),
  ),
  modelled('L3 tapRight passes the item', ops.tapRight(call), (one) => (one.throws ? undefined : right(one))),
  law('L4 enrich keeps the order', fc.tuple(stream, fc.constantFrom(1, 3, 16)), ([source, concurrency]) =>
    agrees(source, ops.enrich(later, { concurrency }), (one) => (one.throws ? undefined : right(one.n))),
  ),
  modelled(
    'L6 flatMapRight passes the Either of its function',
    ops.flatMapRight((one: Item) => (call(one) % 2 === 0 ? right(one.n) : left(`${one.n}`))),
    (one) => (one.throws ? undefined : one.n % 2 === 0 ? right(one.n) : left(`${one.n}`)),
  ),
  law(
    'L7 an answer that is for another operator costs its item',
    fc.tuple(stream, fc.constantFrom(...unfit)),
    ([source, [name, answer]]) => {
      // What code without types may answer.
      const operator = ops[name] as unknown as (f: () => unknown) => Op
      return agrees(source, operator(answer), () => undefined)
    },
  ),
  law(
    'L5 enrich has at most `concurrency` items that have not come out',
    fc.tuple(stream, fc.integer({ min: 1, max: 5 })),
    async ([source, concurrency]) => {
      let open = 0
      let most = 0
      const counting = (one: Item): Promise<number> => {
        most = Math.max(most, ++open)
        return later(one)
      }
      const out = await lastValueFrom(
        from(source).pipe(
          ops.enrich(counting, { concurrency }),
          tap((one) => {
            if (one._tag === 'Right' || typeof one.left !== 'string') open--
          }),
          toArray(),
        ),
        { defaultValue: [] },
      )
      same([out.length, open], [source.length, 0])
      holds(most <= concurrency, `${most} were open`)
    },
  ),
]

describe('operators for the right side', () =>
  itKeeps(rightSideLaws({ mapRight, flatMapRight, filterRight, tapRight, enrich })))

it('enrich tells what it held when it was unsubscribed', () => {
  const told: unknown[] = []
  const note = (event: unknown) => told.push(event)
  subscribe('headrace:notAccepted', note)
  const never = enrich((_: number) => new Promise(() => undefined), { concurrency: 1 })
  from([1, 2]).pipe(lift(), never).subscribe().unsubscribe()
  unsubscribe('headrace:notAccepted', note)
  const closed = [1, 2].map((input) => ({ from: 'enrich', refusal: { _tag: 'Closed', input } }))
  expect(told).toMatchObject(closed)
})

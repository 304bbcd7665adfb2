/** What an outbox must hold: the same words, over plain arrays. */
import type { Outcome } from '../../src/core/outcome.ts'
import { isDead } from '../../src/core/outcome.ts'
import type { DeadLetter, Entry } from '../../src/outbox/outbox.ts'
import type { Bounds, Item } from './outboxWorld.ts'

/** Something that waits. */
export interface Waiting {
  /** Undefined: put back from the dead letters, with an id that shows when it is taken. */
  readonly id: string | undefined
  readonly item: Item
  readonly firstAttemptAt: number | undefined
  readonly progress: Entry<Item>['progress']
  /** Undefined: never put back. */
  readonly due: number | undefined
  readonly out: boolean
}

export type Letter = Omit<DeadLetter<Item>, 'id'>

export interface Model {
  readonly bounds: Bounds
  /** In the order of their appends. */
  waiting: ReadonlyArray<Waiting>
  dead: ReadonlyArray<Letter>
  /** Every id that was ever given. */
  readonly ids: Set<string>
}

export const model = (bounds: Bounds): Model => ({ bounds, waiting: [], dead: [], ids: new Set() })

export const bytesOf = ({ waiting }: Model): number => waiting.reduce((sum, { item }) => sum + item.size, 0)

/** The bound that an item would break. */
export const boundFor = (of: Model, { size }: Item): 'count' | 'bytes' | undefined => {
  if (of.waiting.length >= of.bounds.maxCount) return 'count'
  return bytesOf(of) + size > of.bounds.maxBytes ? 'bytes' : undefined
}

const change = (of: Model, id: string, to: (one: Waiting) => ReadonlyArray<Waiting>): void => {
  of.waiting = of.waiting.flatMap((one) => (one.id === id ? to(one) : [one]))
}

const fresh = (item: Item, id: string | undefined): Waiting => ({
  id,
  item,
  firstAttemptAt: undefined,
  progress: undefined,
  due: undefined,
  out: false,
})

export const enter = (of: Model, { id, item }: Entry<Item>): void => {
  of.ids.add(id)
  of.waiting = [...of.waiting, fresh(item, id)]
}

/** One that waits is handed out, under this id. */
export const goOut = (of: Model, which: Waiting, id: string): void => {
  of.ids.add(id)
  of.waiting = of.waiting.map((one) => (one === which ? { ...one, id, out: true } : one))
}

export const goBack = (of: Model, { id, firstAttemptAt, progress }: Entry<Item>, due: number): void => {
  change(of, id, (one) => [{ ...one, firstAttemptAt, progress, due, out: false }])
}

export const bury = (of: Model, letter: Letter): void => {
  const { keepDead } = of.bounds
  of.dead = keepDead === 0 ? [] : [...of.dead, letter].slice(-keepDead)
}

export const end = (of: Model, entry: Entry<Item>, outcome: Outcome<Item>, at: number): void => {
  change(of, entry.id, () => [])
  if (isDead(outcome)) bury(of, { at, entry, outcome })
}

/** Letters that match go back to wait while there is room. Answers how many. */
export const redrive = (of: Model, matches: (item: Item) => boolean): number => {
  const before = of.dead.length
  of.dead = of.dead.filter(({ entry: { item } }) => {
    if (!matches(item) || boundFor(of, item) !== undefined) return true
    of.waiting = [...of.waiting, fresh(item, undefined)]
    return false
  })
  return before - of.dead.length
}

/** What a crash or a close leaves of it. */
export const afterwards = (of: Model, durable: boolean): void => {
  of.waiting = durable ? of.waiting.map((one) => ({ ...one, out: false })) : []
  if (durable) return
  of.dead = []
  of.ids.clear()
}

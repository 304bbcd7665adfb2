/** Outboxes that are wrong on purpose. Each must break the law that it names. */
import { right } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../../src/core/awaitable.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import { delivered, isDead } from '../../src/core/outcome.ts'
import type { Entry, Outbox } from '../../src/outbox/outbox.ts'
import type { LAWS } from '../laws/outboxLaw.ts'
import type { Item, MakeGround } from '../laws/outboxWorld.ts'

export interface OutboxMutant {
  readonly breaks: keyof typeof LAWS
  /** Which outbox it is made of. */
  readonly of: 'memory' | 'lmdb'
  readonly change: (ground: ReturnType<MakeGround>) => ReturnType<MakeGround>
}

const then = <A, B>(value: Awaitable<A>, use: (value: A) => B): Awaitable<B> =>
  isPromiseLike(value) ? value.then(use) : use(value)

const over =
  (change: (outbox: Outbox<Item>) => Partial<Outbox<Item>>): OutboxMutant['change'] =>
  (ground) => ({
    ...ground,
    open: (bounds, clock) => {
      const outbox = ground.open(bounds, clock)
      return { ...outbox, ...change(outbox) }
    },
  })

const mutant = (
  breaks: OutboxMutant['breaks'],
  of: OutboxMutant['of'],
  change: (outbox: Outbox<Item>) => Partial<Outbox<Item>>,
): OutboxMutant => ({ breaks, of, change: over(change) })

const dead =
  (change: (letters: Outbox<Item>['dead']) => Partial<Outbox<Item>['dead']>) => (outbox: Outbox<Item>) => ({
    dead: { ...outbox.dead, ...change(outbox.dead) },
  })

const tenth = (item: Item): boolean => item.n % 10 === 9

export const outboxMutants: Readonly<Record<string, OutboxMutant>> = {
  'accepts and does not keep': mutant('stats', 'memory', ({ append }) => ({
    append: (item) =>
      tenth(item)
        ? right({ id: `x${item.n}`, item, firstAttemptAt: undefined, progress: undefined })
        : append(item),
  })),
  'keeps one back for ever': mutant('order', 'memory', ({ take }) => ({
    take: (now, limit, parked) =>
      then(take(now, limit, parked), (entries) => entries.filter(({ item }) => !tenth(item))),
  })),
  'hands out what was never given': mutant('kept', 'memory', ({ take }) => {
    const ghost: Entry<Item> = {
      id: 'x',
      item: { n: -1, size: 0, text: '' },
      firstAttemptAt: 1,
      progress: undefined,
    }
    return {
      take: (now, limit, parked) =>
        then(take(now, limit, parked), (all) => (all.length > 2 ? [...all, ghost] : all)),
    }
  }),
  'hands out again what is out': mutant('once', 'memory', ({ take }) => {
    let last: ReadonlyArray<Entry<Item>> = []
    return {
      take: (now, limit, parked) =>
        then(take(now, limit, parked), (entries) => {
          const again = entries.length < limit ? [...last, ...entries] : entries
          last = entries
          return again
        }),
    }
  }),
  'gives an id twice': mutant('once', 'memory', ({ append }) => ({
    append: (item) =>
      then(append(item), (answer) =>
        tenth(item) && answer._tag === 'Right' ? right({ ...answer.right, id: '1' }) : answer,
      ),
  })),
  'is early': mutant('due', 'memory', ({ take }) => ({
    take: (now, limit, parked) => take(now + 1, limit, parked),
  })),
  'hands out the newest first': mutant('order', 'memory', ({ take }) => ({
    take: (now, limit, parked) => then(take(now, limit, parked), (entries) => [...entries].reverse()),
  })),
  'fills up with retries': mutant('order', 'memory', ({ take }) => ({
    take: (now, limit) => take(now, limit, limit),
  })),
  'lets retries wait for new ones': mutant('order', 'memory', ({ take }) => ({
    take: (now, limit, parked) => take(now, limit, Math.max(0, parked - 1)),
  })),
  'counts attempts anew': mutant('remembers', 'memory', ({ park }) => ({
    park: (entry, due) =>
      park(
        entry.progress === undefined ? entry : { ...entry, progress: { ...entry.progress, attempts: 1 } },
        due,
      ),
  })),
  'forgets when it began': mutant('remembers', 'lmdb', ({ park }) => ({
    park: (entry, due) => park({ ...entry, firstAttemptAt: undefined }, due),
  })),
  'tidies what it stores': mutant('identical', 'memory', ({ append, take }) => ({
    append,
    take: (now, limit, parked) =>
      then(take(now, limit, parked), (entries) =>
        entries.map((entry) => ({ ...entry, item: { ...entry.item, text: entry.item.text.trim() } })),
      ),
  })),
  'takes one too many': {
    breaks: 'bounds',
    of: 'memory',
    change: (ground) => ({
      ...ground,
      open: (bounds, clock) => {
        const outbox = ground.open({ ...bounds, maxCount: bounds.maxCount + 1 }, clock)
        return { ...outbox, stats: () => ({ ...outbox.stats(), maxCount: bounds.maxCount }) }
      },
    }),
  },
  'names the other bound': mutant('bounds', 'lmdb', ({ append }) => ({
    append: (item) =>
      then(append(item), (answer) =>
        answer._tag === 'Left'
          ? { ...answer, left: { ...answer.left, bound: answer.left.bound === 'bytes' ? 'count' : 'bytes' } }
          : answer,
      ),
  })),
  'counts what is out as gone': mutant('stats', 'memory', ({ take, stats }) => {
    let out = 0
    return {
      take: (now, limit, parked) =>
        then(take(now, limit, parked), (entries) => {
          out += entries.length
          return entries
        }),
      stats: () => ({ ...stats(), waiting: stats().waiting - out }),
    }
  }),
  'never wakes': mutant('wakes', 'memory', () => ({ nextDue: () => undefined })),
  'always wakes': mutant('wakes', 'lmdb', () => ({ nextDue: () => 0 })),
  'keeps what was delivered among the dead': mutant('stats', 'memory', ({ end }) => ({
    end: (entry, outcome) =>
      end(
        entry,
        isDead(outcome)
          ? outcome
          : { ...outcome, _tag: 'Rejected', failure: { _tag: 'Refused', reason: 'x' } },
      ),
  })),
  'buries nothing': mutant('stats', 'memory', () => ({ bury: () => undefined })),
  'forgets why it died': mutant('letters', 'memory', ({ end }) => ({
    end: (entry, outcome) => end(entry, outcome._tag === 'Expired' ? { ...outcome, attempts: 0 } : outcome),
  })),
  'begins every page anew': mutant(
    'letters',
    'memory',
    dead(({ list }) => ({ list: (page) => list(page?.limit === undefined ? {} : { limit: page.limit }) })),
  ),
  'skips a letter between pages': mutant(
    'letters',
    'lmdb',
    dead(({ list }) => ({
      list: (page) =>
        list({ ...page, ...(page?.after === undefined ? {} : { after: String(Number(page.after) + 1) }) }),
    })),
  ),
  'says that it redrove': mutant(
    'redrives',
    'memory',
    dead(({ list }) => ({
      redrive: (matches) => then(list(), (letters) => letters.filter(matches).length),
    })),
  ),
  'redrives with the old deadline': mutant('redrives', 'memory', (outbox) => {
    const old = new Set<number>()
    return {
      dead: {
        ...outbox.dead,
        redrive: (matches) =>
          outbox.dead.redrive((letter) => {
            if (matches(letter)) old.add(letter.entry.item.n)
            return matches(letter)
          }),
      },
      take: (now, limit, parked) =>
        then(outbox.take(now, limit, parked), (entries) =>
          entries.map((entry) => (old.delete(entry.item.n) ? { ...entry, firstAttemptAt: 1 } : entry)),
        ),
    }
  }),
  'redrives all of them': mutant(
    'redrives',
    'lmdb',
    dead(({ redrive }) => ({ redrive: () => redrive(() => true) })),
  ),
  'purges all of them': mutant(
    'purges',
    'memory',
    dead(({ purge }) => ({ purge: () => purge(() => true) })),
  ),
  'hands back what a durable one keeps': mutant('abandons', 'lmdb', (outbox) => ({
    abandon: () => outbox.take(Infinity, 1_000, 1_000),
  })),
  'hands back nothing': mutant('abandons', 'memory', () => ({ abandon: () => [] })),
  'deletes when it closes': mutant('survives', 'lmdb', (outbox) => ({
    close: async () => {
      for (const entry of await outbox.take(Infinity, 1_000, 1_000))
        await outbox.end(entry, delivered(entry.item, 1, { sink: 'a' }))
      await outbox.close()
    },
  })),
  'ends only in memory, so that a crash brings it back': mutant('survives', 'lmdb', (outbox) => {
    const gone = { waiting: 0, bytes: 0 }
    return {
      end: (entry, outcome) => {
        if (isDead(outcome)) return outbox.end(entry, outcome)
        gone.waiting++
        gone.bytes += entry.item.size
      },
      stats: () => {
        const stats = outbox.stats()
        return { ...stats, waiting: stats.waiting - gone.waiting, bytes: stats.bytes - gone.bytes }
      },
    }
  }),
  'counts the dead anew at each opening': {
    breaks: 'survives',
    of: 'lmdb',
    change: (ground) => {
      let lives = 0
      return over(({ stats }) => {
        const more = lives++
        return { stats: () => ({ ...stats(), dead: stats().dead * (more > 1 ? 2 : 1) }) }
      })(ground)
    },
  },
  'says that it is durable and is not': {
    breaks: 'survives',
    of: 'memory',
    change: over(() => ({ durable: true })),
  },
}

/** TP1: a part works in the async context in which it was made, and in that of no caller. */
import { AsyncLocalStorage } from 'node:async_hooks'
import * as fc from 'fast-check'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { onlyAttempt, retryable, sink, type Sink } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { webhook } from '../../src/http/webhook.ts'
import { collectGarbage, turns, type Drawn } from '../support/check.ts'
import { receiverOf } from '../support/http.ts'
import { parts } from '../support/parts.ts'
import { runs } from '../support/runs.ts'

const stores = new AsyncLocalStorage<string>()

const world = fc.record({
  part: fc.constantFrom('deliver', 'destination', 'client', 'collector'),
  callers: fc.array(fc.record({ fails: fc.nat(2), isAtOnce: fc.boolean(), waits: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  }),
  isSlowStore: fc.boolean(),
  redrives: fc.boolean(),
})
type World = Drawn<typeof world>

/** Logged while a call is checked: in the caller's context. */
const OF_CALLS = new Set(['Accepted', 'NotAccepted', 'UnknownKeys'])

const slow = <A>(outbox: Outbox<A>): Outbox<A> => ({
  ...outbox,
  enqueue: async (items) => {
    const answers = await outbox.enqueue(items)
    await turns()
    return answers
  },
  ack: async (list) => {
    await turns()
    await outbox.ack(list)
  },
})

/** Where each thing happened: `what: the store that it saw`. */
const play = async ({ part, callers, isSlowStore, redrives }: World) => {
  const seen: string[] = []
  const note = (what: string): void => void seen.push(`${what}: ${stores.getStore() ?? 'none'}`)
  const onEvent = ({ _tag }: LogEvent): void => note(_tag)
  const failures = new Map<string, number>()
  /** Ids are `c0`, `c1` …; a batch answers for its first member. */
  const answer = (id: string): Either<ReturnType<typeof retryable>, string> => {
    note('sink')
    const { fails = 0 } = callers[Number(id.slice(1))] ?? {}
    const failed = failures.get(id) ?? 0
    failures.set(id, failed + 1)
    return failed < fails ? left(retryable('busy')) : right(id)
  }
  const target = <A>(idOf: (item: A) => string): Sink<A> =>
    sink<A>('s', async (item) => {
      const id = idOf(item)
      if (callers[Number(id.slice(1))]?.isAtOnce !== true) await turns()
      return answer(id)
    })
  const retry = both(exponential({ base: 1, factor: 1 }), limitRetries(redrives ? 0 : 3))
  const store = isSlowStore ? <A>() => slow(memoryOutbox<A>()) : undefined
  const made = stores.run('part', () => {
    const client = { size: 2, flushAfter: 1 }
    const opened = parts[part]({ target, store, retry, onEvent, ended: note, client })
    if ('attempts$' in opened) opened.attempts$.subscribe(() => note('attempts$'))
    return opened
  })
  const answers: unknown[] = []
  for (const [n, { waits }] of callers.entries()) {
    answers.push(stores.run(`caller ${String(n)}`, (): unknown => made.call(`c${String(n)}`)))
    if (waits) await answers.at(-1)
  }
  // A collector yields every 10 ms, so a close may overtake a call: that one is answered Closed.
  if (part === 'collector') await Promise.all(answers)
  await stores.run('caller idle', async () => {
    await made.rest()
    if (redrives && 'redriveAll' in made) {
      await made.redriveAll()
      await made.rest()
    }
    await made.close()
  })
  return seen
}

describe('what a part does', () => {
  it('sees the context in which the part was made, and no caller', () =>
    fc.assert(
      fc.asyncProperty(world, async (given) => {
        const seen = await play(given)
        const wrong = seen.filter((each) => {
          const [what = '', store] = each.split(': ')
          return OF_CALLS.has(what) ? store === 'none' : store !== 'part'
        })
        expect(wrong).toEqual([])
        expect(seen.filter((each) => each === 'sink: part').length).toBeGreaterThan(0)
      }),
      { numRuns: runs(1) },
    ))

  it('logs a call that is checked in the context of its caller', async () => {
    const seen: string[] = []
    const onEvent = ({ _tag }: LogEvent): void => void seen.push(`${_tag}: ${stores.getStore() ?? 'none'}`)
    const client = createClient('key', {
      ...{ onEvent, logger: false, drainOnExit: false },
      sink: sink('s', async () => 'ok'),
    })
    stores.run('ann', () => client.track({ userId: 'u', event: 'e', more: 1 } as never))
    stores.run('bob', () => client.track({ event: 'e' } as never))
    expect(seen).toEqual(['UnknownKeys: ann', 'Accepted: ann', 'NotAccepted: bob'])
    await client.close()
  })
})

it('a connection answers in the context of its sink, and not in that of its first request', async () => {
  const receiver = await receiverOf()
  const hook = webhook(receiver.url)
  const post = (id: string): Promise<string | undefined> =>
    new Promise((resolve) => {
      const payload = { id, items: [id] as const, text: '{}', byteLength: 2 }
      hook.deliver(payload, onlyAttempt).subscribe({ complete: () => resolve(stores.getStore()) })
    })
  await stores.run('ann', () => post('a'))
  expect(await post('b')).toBeUndefined()
  expect(receiver.received).toHaveLength(2)
  await hook.close()
})

const requests = new AsyncLocalStorage<object>()
it.each(['deliver', 'destination', 'client'] as const)('a %s frees the store of a caller', async (part) => {
  let attempts = 0
  // The first attempt fails, and opens what stays, as a connection does.
  const target = <A>() =>
    sink<A>('s', async () => {
      if (attempts++ > 0) return 'ok'
      const connection = setInterval(() => undefined, 1e6)
      onTestFinished(() => clearInterval(connection))
      return left(retryable('busy'))
    })
  let ended = (): void => undefined
  const outcome = new Promise<void>((resolve) => (ended = resolve))
  const retry = exponential({ base: 1, factor: 1 })
  const { call, close } = parts[part]({ target, retry, ended: () => ended() })
  const callIn = (request: object) => {
    requests.run(request, () => void call('a'))
    return new WeakRef(request)
  }
  const request = callIn({ body: 'x' })
  await outcome
  await collectGarbage()
  expect([attempts, request.deref()]).toEqual([2, undefined])
  await close()
})

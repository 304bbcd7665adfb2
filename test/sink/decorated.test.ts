import { right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { firstValueFrom, lastValueFrom, map, of } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { contramap, deliver, failover, firstSuccess, lift, onlyAttempt } from '../../src/index.ts'
import { memory } from '../../src/sink/memory.ts'
import { withTimeout, type Sink, type Verdict, type Payload } from '../../src/index.ts'
import { route, sink, toAll, withConcurrency, withDedupe, withRateLimit } from '../../src/index.ts'
import { urlsSink } from '../../src/destination/urls.ts'
import { destinationOptions } from '../../src/destination/settings.ts'
import { checkOptions } from '../../src/core/options.ts'
import { payloadOf } from './deliverOnce.ts'

type Item = Payload<unknown>
type Deliver = Sink<Item>['deliver']
const item = payloadOf('{}')

/** A decorator that counts, calls the one before it, and uses `this`. */
class Counting {
  calls = 0
  readonly before: Deliver
  constructor(before: Deliver) {
    this.before = before
  }
  readonly deliver: Deliver = (...given) => {
    this.calls++
    return this.before(...given).pipe(map((verdict): Verdict => (verdict._tag === 'Left' ? verdict : MINE)))
  }
}
const MINE: Verdict = right({ sink: 'mine' })

interface Decorated {
  readonly sink: Sink<Item>
  readonly calls: () => number
  /** Puts the decorator on after the parts were put together. */
  readonly later?: () => void
}
const ours = (): Sink<Item> => sink('ours', async () => 'done')

const forms: Readonly<Record<string, () => Decorated>> = {
  'a spread': () => {
    const inner = ours()
    const counting = new Counting(inner.deliver)
    return { sink: { ...inner, deliver: counting.deliver }, calls: () => counting.calls }
  },
  'Object.create': () => {
    const inner = ours()
    const counting = new Counting(inner.deliver)
    // An object whose prototype is a sink, as a class that extends one.
    const made = Object.assign(Object.create(inner) as Sink<Item>, { deliver: counting.deliver })
    return { sink: made, calls: () => counting.calls }
  },
  'an assignment, afterwards': () => {
    const made = ours()
    const counting = new Counting(made.deliver)
    const later = (): void => void Object.assign(made, { deliver: counting.deliver })
    return { sink: made, calls: () => counting.calls, later }
  },
  'methods that use `this`': () => {
    class Mine implements Sink<Item> {
      readonly name = 'ours'
      calls = 0
      readonly inner = ours()
      deliver(...given: Parameters<Deliver>): ReturnType<Deliver> {
        this.calls++
        return this.inner.deliver(...given).pipe(map(() => MINE))
      }
      async close(): Promise<void> {
        await this.inner.close()
      }
    }
    const made = new Mine()
    return { sink: made, calls: () => made.calls }
  },
}

const options = checkOptions('options', destinationOptions, {})
const parts: Readonly<Record<string, (sink: Sink<Item>) => Sink<Item>>> = {
  'nothing around it': (inner) => inner,
  withRateLimit: (inner) => withRateLimit({ perSecond: 9 })(inner),
  withConcurrency: withConcurrency({ concurrency: 2 }),
  withTimeout: withTimeout({ timeout: 1_000 }),
  withDedupe: (inner) => withDedupe({ keyOf: ({ id }: Item) => id, keyTimeout: 9 })(inner),
  contramap: contramap((each: Item) => each),
  failover: (inner) => failover([inner, memory()]),
  firstSuccess: (inner) => firstSuccess([inner]),
  toAll: (inner) => toAll([inner, memory()], { name: 'mine' }),
  route: (inner) => route({ keyOf: () => 1, open: () => inner }),
  'the layers of a destination': (inner) => urlsSink([inner], options, () => false).sink as Sink<Item>,
}

test.each(Object.keys(forms).flatMap((form) => Object.keys(parts).map((part) => [form, part] as const)))(
  '%s is called, under %s',
  async (form, part) => {
    const { sink: decorated, calls, later } = forms[form]?.() ?? expect.fail()
    const built = pipe(decorated, parts[part] ?? expect.fail())
    later?.()
    expect(await firstValueFrom(built.deliver(item, onlyAttempt), { defaultValue: undefined })).toEqual(MINE)
    const ended = await lastValueFrom(of({ ...item, id: 'another' }).pipe(lift(), deliver(built)), {
      defaultValue: undefined,
    })
    expect(ended).toMatchObject({ _tag: 'Delivered', receipt: { sink: 'mine' } })
    expect(calls()).toBe(2)
    await built.close()
  },
)

test('what is taken off again is not called any more', async () => {
  const made = ours()
  const limited = withTimeout({ timeout: 1_000 })(made)
  const spy = vi.spyOn(made, 'deliver')
  spy.mockRestore()
  expect(await firstValueFrom(limited.deliver(item, onlyAttempt), { defaultValue: undefined })).toEqual(
    right({ sink: 'ours' }),
  )
  expect(spy.mock.calls).toEqual([])
})

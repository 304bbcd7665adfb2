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

const MINE: Verdict = right({ sink: 'mine' })
const ours = (): Sink<Item> => sink('ours', async () => 'done')

interface Decorated {
  readonly sink: Sink<Item>
  readonly later?: () => unknown
}

const forms: Readonly<Record<string, (decorate: (before: Deliver) => Deliver) => Decorated>> = {
  'a spread': (decorate) => {
    const inner = ours()
    return { sink: { ...inner, deliver: decorate(inner.deliver) } }
  },
  'Object.create': (decorate) => {
    const inner = ours()
    // An object whose prototype is a sink, as a class that extends one.
    const made = Object.create(inner) as Sink<Item>
    return { sink: Object.assign(made, { deliver: decorate(inner.deliver) }) }
  },
  'an assignment, afterwards': (decorate) => {
    const made = ours()
    return { sink: made, later: () => Object.assign(made, { deliver: decorate(made.deliver) }) }
  },
  'methods that use `this`': (decorate) => {
    class Mine implements Sink<Item> {
      readonly name = 'ours'
      readonly inner = ours()
      deliver(...given: Parameters<Deliver>): ReturnType<Deliver> {
        return decorate(this.inner.deliver)(...given)
      }
      close(): Promise<void> {
        return this.inner.close()
      }
    }
    return { sink: new Mine() }
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
  'the layers of a destination': (inner) => urlsSink([inner], options).sink as Sink<Item>,
}

test.each(Object.keys(forms).flatMap((form) => Object.keys(parts).map((part) => [form, part] as const)))(
  '%s is called, under %s',
  async (form, part) => {
    let calls = 0
    const decorate =
      (before: Deliver): Deliver =>
      (...given) => (calls++, before(...given).pipe(map(() => MINE)))
    const { sink: decorated, later } = forms[form]?.(decorate) ?? expect.fail()
    const built = pipe(decorated, parts[part] ?? expect.fail())
    later?.()
    expect(await firstValueFrom(built.deliver(item, onlyAttempt), { defaultValue: undefined })).toEqual(MINE)
    const ended = await lastValueFrom(of({ ...item, id: 'another' }).pipe(lift(), deliver(built)), {
      defaultValue: undefined,
    })
    expect(ended).toMatchObject({ _tag: 'Delivered', receipt: { sink: 'mine' } })
    expect(calls).toBe(2)
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

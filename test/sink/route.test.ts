import { right } from 'fp-ts/lib/Either.js'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { route } from '../../src/sink/route.ts'
import { memory } from '../../src/sink/memory.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

it('H7: a sink whose close throws costs no item, no timer and no other close', async () => {
  const clock = virtualClock()
  const closed: string[] = []
  const byKey = route({
    keyOf: (item: string) => item,
    open: (key) => ({
      ...memory<string>({ name: key }),
      close: () => {
        closed.push(key)
        throw new Error('oops')
      },
    }),
    maxOpen: 2,
    idleTimeout: 100,
    clock,
  })
  for (const key of ['a', 'b', 'c'])
    expect(await firstValueFrom(byKey.deliver(key, onlyAttempt), { defaultValue: undefined })).toEqual(
      right({ sink: key }),
    )
  expect(closed).toEqual(['a'])
  await clock.advance(100)
  expect(closed).toEqual(['a', 'b', 'c'])
  for (const key of ['d', 'e'])
    await firstValueFrom(byKey.deliver(key, onlyAttempt), { defaultValue: undefined })
  await expect(byKey.close({ timeout: 0 })).rejects.toThrow('oops')
  expect(closed).toEqual(['a', 'b', 'c', 'd', 'e'])
})

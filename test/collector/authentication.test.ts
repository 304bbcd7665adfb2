import { expect, it } from 'vitest'
import { secretFrom } from '../../src/signing/secret.ts'
import { ask, basic, open } from './kit.ts'

const keys = ['wk\0', 'wk\0\0', 'wk\u0001']
it.each(keys)('H13 a write key with a NUL behind it is another key, and none at all: %j', async (key) => {
  const { collector } = open()
  const byHeader = await ask(collector, '/v1/page', { userId: 'u' }, { Authorization: basic(`${key}:`) })
  const byBody = await ask(collector, '/v1/batch', { writeKey: key, batch: [] }, {})
  expect([byHeader.status, byBody.status]).toEqual([401, 401])
  expect(secretFrom(key)).toMatchObject({ left: { message: 'must not have a control character' } })
})

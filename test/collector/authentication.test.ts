import { expect, it } from 'vitest'
import { secretFrom } from '../../src/signing/secret.ts'
import { ask, basic, open } from './kit.ts'

it('H13 a write key with a NUL behind it is another key, and none at all', async () => {
  const { collector } = open()
  for (const key of ['wk\0', 'wk\0\0', 'wk\u0001']) {
    const byHeader = await ask(
      collector,
      '/v1/batch',
      { batch: [{ type: 'page', userId: 'u' }] },
      { Authorization: basic(`${key}:`) },
    )
    expect(byHeader.status).toBe(401)
    expect((await ask(collector, '/v1/batch', { writeKey: key, batch: [] }, {})).status).toBe(401)
    expect(secretFrom(key)).toMatchObject({ left: { message: 'must not have a control character' } })
  }
})

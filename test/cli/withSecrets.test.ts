import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withSecrets } from '../../src/cli/config.ts'

const env = { KEY: 'k-1', SECRET: 's-1', EMPTY: '' }

describe('secrets of a configuration', () => {
  it('come from the environment, wherever a text may stand', () => {
    const config = {
      sources: [{ id: 'web', writeKey: { env: 'KEY' } }],
      destinations: [
        {
          name: 'hooks',
          sharedSecret: { env: 'SECRET' },
          webhooks: [{ headers: { 'X-Key': { env: 'KEY' } } }],
        },
      ],
    }
    expect(withSecrets(config, env)).toEqual({
      faults: [],
      config: {
        sources: [{ id: 'web', writeKey: 'k-1' }],
        destinations: [{ name: 'hooks', sharedSecret: 's-1', webhooks: [{ headers: { 'X-Key': 'k-1' } }] }],
      },
    })
  })

  it('are all missed at once, each with its place, and without the name, which may be the secret itself', () => {
    const config = { a: [{ env: 'hunter2' }, { env: 'EMPTY' }], b: { env: 7 }, c: { env: 'toString' } }
    const result = withSecrets(config, env)
    expect(result).toEqual({
      config: { a: ['missing-1', 'missing-2'], b: 'missing-3', c: 'missing-4' },
      faults: [
        { path: 'a[0]', message: expect.stringContaining('is not set: set it with export') },
        { path: 'a[1]', message: expect.stringContaining('is empty') },
        { path: 'b', message: expect.stringContaining('{"env": "NAME"}') },
        { path: 'c', message: expect.stringContaining('is not set') },
      ],
    })
    expect(JSON.stringify(result)).not.toContain('hunter2')
  })

  it('leave a configuration that has none as it is', () => {
    const plain = fc
      .jsonValue({ noUnicodeString: false })
      .filter((value) => !JSON.stringify(value).includes('"env"'))
    fc.assert(
      fc.property(plain, (config) => {
        expect(withSecrets(config, {})).toEqual({ config, faults: [] })
      }),
      { numRuns: 300 },
    )
  })

  it('takes an object that has more than env for what it is', () => {
    const config = { env: 'KEY', other: 1 }
    expect(withSecrets(config, env)).toEqual({ config, faults: [] })
  })
})

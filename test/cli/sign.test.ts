import { describe, expect, it, test } from 'vitest'
import { signatureOf } from '../../src/signing/secret.ts'
import { headrace } from './inProcess.ts'

describe('sign and verify', () => {
  const vector = { env: { SECRET: 'Jefe' }, input: 'what do ya want for nothing?' }
  const signature = 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'

  it('signs as RFC 2202 says', async () => {
    const signed = await headrace(['sign', '--secret-env', 'SECRET'], vector)
    expect(signed).toEqual({ code: 0, stdout: `${signature}\n`, stderr: '' })
    const withBreak = await headrace(['sign', '-', '--secret-env', 'SECRET'], { ...vector, input: 'a\n' })
    expect(withBreak.stderr).toBe('headrace sign: the body ends with a line break, which is signed with it\n')
  })

  const ANOTHER = /^not authentic: the signature belongs to another body or/
  const UPPER = /^not authentic: .*40 lower-case hexadecimal digits\n$/
  test.each([
    ['authentic', vector.input, signature, 0, /^authentic\n$/],
    ['another body', `${vector.input}!`, signature, 1, ANOTHER],
    ['upper case', vector.input, signature.toUpperCase(), 1, UPPER],
    ['re-serialised', '{ "a": 1 }', signatureOf('Jefe', '{"a":1}'), 1, /but its re-serialised form does/],
  ] as const)('verifies: %s', async (_, input, given, code, says) => {
    const flags = ['--secret-env', 'SECRET', '--signature', given]
    const ended = await headrace(['verify', ...flags], { ...vector, input })
    expect(ended.stdout).toMatch(says)
    expect(ended).toMatchObject({ code, stderr: '' })
  })

  test.each([
    [['sign'], /^headrace sign: --secret-env is missing: give the variable/],
    [['sign', '/nowhere', '--secret-env', 'SECRET'], /^headrace sign: '\/nowhere' cannot be read/],
    [['verify', '--secret-env', 'SECRET'], /^headrace verify: --signature is missing: give the value of/],
  ])('%j is wrong usage', async (args, says) => {
    const { code, stdout, stderr } = await headrace(args, vector)
    expect(stderr).toMatch(says)
    expect([code, stdout]).toEqual([2, ''])
  })
})

import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { brokenReceivers, testCertificates } from '../../src/testing/index.ts'
import { verifying } from '../support/http.ts'
import { headrace, receiverOf, recordsOf, scratch, served } from './inProcess.ts'

const env = { SECRET: 'correct horse' }
const check = (url: string, ...flags: ReadonlyArray<string>) =>
  headrace(['check-receiver', url, '--secret-env', 'SECRET', ...flags], { env })

it('0 if every must holds', async () => {
  const { code, stdout, stderr } = await check(await served(verifying(env.SECRET)))
  expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/^passed {3}must {4}kind\/page /)])
  expect(stdout).toMatch(/\nmust 20 of 20 · should 6 of 6 · may 0 of 1\n$/)
})

it('1 if one does not, and says why', async () => {
  const { script } = brokenReceivers['answers 500 to a wrong signature']
  const { url } = await receiverOf(script(env.SECRET))
  const { code, stdout } = await check(`${url}?token=hunter2`, '--output', 'json')
  expect(code).toBe(1)
  const records = recordsOf(stdout)
  expect(records.find(({ id }) => id === 'signature/wrong-key')).toEqual({
    ...{ v: 1, t: 'vector', id: 'signature/wrong-key', level: 'must', passed: false, status: 500 },
    statement: 'Refuses a signature by another secret.',
    expected: '4xx within 5000 ms',
    seen: expect.stringMatching(/^500 after \d+ ms$/),
    ms: expect.any(Number),
    why: expect.stringContaining('sent the same request again for four hours'),
  })
  expect(records.at(-1)).toMatchObject({ v: 1, t: 'summary', url, kept: false })
  expect(stdout).not.toContain('hunter2')
})

it('says what was sent, expected and seen, and neither the secret nor what could steer a terminal', async () => {
  const { code, stdout } = await check(await served((_, response) => response.writeHead(404).end()))
  expect(code).toBe(1)
  expect(stdout).toContain('sent      {"version":1,"type":"track","userId":"check-receiver"')
  expect(stdout).toContain('Zoë')
  expect(stdout).toContain('\n         expected  2xx within 5000 ms\n         seen      404 after ')
  expect(stdout).toContain('\n         why       Every track event is lost.')
  expect(stdout).not.toMatch(/correct horse|[\u2028\u200d]/)
})

it('1 with a clear report if nothing listens', async () => {
  const stdout = 'no answer from http://127.0.0.1:9/: connection refused: nothing listens there\n'
  expect(await check('http://127.0.0.1:9/')).toMatchObject({ code: 1, stdout })
})

it('trusts the authority in a file', async () => {
  const { valid, ca } = testCertificates()
  const { url } = await receiverOf([], { tls: valid })
  const file = `${scratch()}/ca.pem`
  writeFileSync(file, ca)
  expect((await check(url, '--tls-ca', file)).stdout).toContain('passed   must    kind/page')
})

it.each([
  [['ftp://a.example'], 'url must begin with http:// or https://'],
  [['http://a.example', '--tls-ca', 'package.json'], '--tls-ca names a file without PEM'],
  [['http://a.example', '--output', 'lines'], '--output must be text or json'],
  [[], "missing required argument 'URL'"],
])('2 for wrong usage: %j', async ([url = '', ...flags], message) => {
  const args = ['--secret-env', 'SECRET', ...(url === '' ? [] : [url]), ...flags]
  const { code, stdout, stderr } = await headrace(['check-receiver', ...args], { env })
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(`headrace check-receiver: ${message}`)
  const unset = await headrace(['check-receiver', 'http://a.example'], { env })
  expect(unset.stderr).toContain('--secret-env is missing')
})

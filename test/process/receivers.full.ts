/** The receivers of docs/receivers, in each language that is on this machine. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { signatureOf } from '../../src/signing/index.ts'
import { checkReceiver, VECTOR_SECRET } from '../../src/testing/index.ts'
import { documentedReceiver } from './receivers.ts'

const SECRET = 'correct horse 🐎'

const programs: ReadonlyArray<
  readonly [file: string, version: string, equals: string, commandOf: (port: string) => ReadonlyArray<string>]
> = [
  ['verify.py', '--version', 'hmac.compare_digest', () => ['python3', 'verify.py']],
  ['verify.go', 'version', 'hmac.Equal', () => ['go', 'run', 'verify.go']],
  ['verify.php', '--version', 'hash_equals', (port) => ['php', '-S', `127.0.0.1:${port}`, 'verify.php']],
]

for (const [file, version, equals, commandOf] of programs) {
  const [program = ''] = commandOf('')
  const isThere = spawnSync(program, [version]).status === 0

  test(`${file} compares in constant time`, () => {
    expect(readFileSync(new URL(`../../docs/receivers/${file}`, import.meta.url), 'utf8')).toContain(equals)
  })

  // Not skipped but left out, with its reason: a skipped test is always a fault.
  if (!isThere) test(`${file} is not run: there is no ${program} on this machine`, () => undefined)
  else
    test(`${file} does all that a receiver must and should`, async () => {
      const url = await documentedReceiver(SECRET, commandOf)
      const report = await checkReceiver(url, { secret: SECRET })
      const failed = report.results.filter(({ passed }) => !passed).map(({ vector }) => vector.id)
      expect(failed).toEqual(['signature/upper-case'])
      const how = {
        method: 'POST',
        headers: { 'X-Signature': signatureOf(SECRET, 'ü') },
        duplex: 'half',
      } as const
      // A stream is sent in chunks; the second request finds none of them left in the connection.
      const chunked = async () => (await fetch(url, { ...how, body: new Blob(['ü']).stream() })).status
      expect([await chunked(), await chunked()]).toEqual([204, 204])
    })
}

test('send_vectors.py finds the same with the vectors of the file', async () => {
  const url = await documentedReceiver(VECTOR_SECRET, () => ['python3', 'verify.py'])
  const script = fileURLToPath(new URL('../../docs/receivers/send_vectors.py', import.meta.url))
  const { stdout, stderr } = spawnSync('python3', [script, url], { encoding: 'utf8' })
  expect([stdout, stderr]).toEqual(['may signature/upper-case 401\n', ''])
})

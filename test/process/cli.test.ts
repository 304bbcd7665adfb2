import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { testCertificates, type Received } from '../../src/testing/index.ts'
import { headrace, linesOf, receiverOf, recordsOf, scratch, start, track } from './command.ts'

const eventIn = ({ body }: Received): string => (JSON.parse(body.toString()) as { event: string }).event

it('H9: stops when its terminal is closed, and quits at once for a second signal', async () => {
  const receiver = await receiverOf(() => ({ do: 'silence' }))
  const dead = `${scratch()}/dead`
  const args = ['send', '--to', receiver.url, '--timeout', '10m', '--dead', dead]
  const { child, ended, complains } = start(args)
  child.stdin.end(track('A'))
  await receiver.arrived(1)
  child.kill('SIGHUP')
  await complains(/Press Ctrl-C again/)
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  expect(linesOf(stderr)).toContain('headrace: read 1 · waiting 1')
  expect(recordsOf(readFileSync(dead, 'utf8'))).toMatchObject([{ event: 'A' }])
  expect(code).toBe(5)
})

it('does not take one pipe for another of the same name', async () => {
  const receiver = await receiverOf()
  const folder = scratch()
  const pipe = `${folder}/pipe`
  execFileSync('mkfifo', [pipe])
  const through = async (text: string): Promise<number | null> => {
    const { child, ended } = start(['send', pipe, '--to', receiver.url, '--outbox', `${folder}/outbox`])
    child.stdin.end()
    await writeFile(pipe, text)
    return (await ended).code
  }
  expect(await through(track('a') + track('b'))).toBe(0)
  expect(await through(track('a') + track('b') + track('c'))).toBe(0)
  expect(receiver.received.map(eventIn)).toEqual(['a', 'b', 'a', 'b', 'c'])
})

it('trusts the bundled roots or --tls-ca, whatever the environment and the command line of Node say (H15, L8)', async () => {
  const { ca: authority, valid } = testCertificates()
  const receiver = await receiverOf([], { tls: valid })
  const ca = `${scratch()}/ca.pem`
  await writeFile(ca, authority)
  const args = ['send', '--to', receiver.url.replace('127.0.0.1', 'localhost'), '--retry-for', '0s']
  for (const env of [
    { NODE_EXTRA_CA_CERTS: ca },
    { SSL_CERT_FILE: ca, NODE_OPTIONS: '--use-openssl-ca' },
    { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  ])
    expect(await headrace(args, { env, input: track('A') })).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('certificate') as unknown,
    })
  expect(receiver.received).toEqual([])

  const env = { TOKEN: 'hunter2' }
  const trusting = [...args, '--tls-ca', ca, '--header-env', 'X-Api-Key=TOKEN']
  expect(await headrace(trusting, { env, input: track('A') })).toMatchObject({ code: 0 })
  expect(receiver.received[0]?.headers).toMatchObject({ 'x-api-key': 'hunter2' })
  const none = await headrace([...args, '--tls-ca', 'missing.pem', '--header-env', 'X-Api-Key=NONE'], {})
  expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/--header-env .*\n?.*--tls-ca/s)])
})

it('gen says how to install fast-check where it is not installed', async () => {
  const folder = scratch()
  cpSync(new URL('../../dist', import.meta.url), `${folder}/dist`, { recursive: true })
  writeFileSync(`${folder}/package.json`, '{"type":"module","version":"0.0.0"}')
  mkdirSync(`${folder}/node_modules`)
  const installed = new URL('../../node_modules/', import.meta.url)
  for (const name of ['commander', 'debug', 'ms', 'fp-ts', 'io-ts', 'ipaddr.js', 'rxjs', 'tslib', 'undici'])
    symlinkSync(new URL(name, installed), `${folder}/node_modules/${name}`)
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${folder}/dist/cli/main.js`, 'gen'], {
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toBe(
    'headrace gen: needs the package fast-check, which is not installed: run "npm install fast-check"\n',
  )
})

import { writeFileSync } from 'node:fs'
import { expect, it, test } from 'vitest'
import { start as startProcess } from '../process/command.ts'
import { configFile, headrace, linesOf, picky, receiverOf, served, start, track } from './inProcess.ts'

const inspected = async (url: string) => {
  const args = ['send', '--to', url, '--inspect', '--output', 'quiet', '--grace', '0s']
  const { child, complains, ended } = startProcess(args)
  child.stdin.write(track('A') + track('Bad'))
  const [link = ''] = /http:\S+#t=\S+/.exec(await complains(/#t=\S+\n/)) ?? []
  const ask = (...argv: string[]) => headrace([...argv, '--inspect-env', 'L'], { env: { L: link } })
  return { child, link, ended, ask }
}

it('shows a running process in another one: its view, and the story of an event', async () => {
  const { url, arrived } = await picky()
  const { child, link, ended, ask } = await inspected(url)
  await arrived(2)
  await expect.poll(async () => (await ask('explain', 'Bad')).stdout).toContain('rejected after')
  const told = await ask('explain', 'A')
  expect([told.code, ...linesOf(told.stdout.replaceAll(/[\d.]+m?s +|\d+ ms|:\d+/g, 'N'))]).toEqual([
    0,
    'A track delivered, 1 request',
    '  +Naccepted',
    '  +N200 after N from N',
    '  +Ndelivered after 1 attempt',
  ])
  const top = await ask('top')
  expect([top.code, ...linesOf(top.stdout)]).toEqual([
    0,
    expect.stringMatching(/^Degraded {2}2 accepted {2}1 delivered {2}0 waiting {2}1 rejected$/),
    expect.stringMatching(/^:\d+ {2}flaky +[\d.]+\/s +p95 \S+ +first 100% +next -$/),
    '  1 failed, last: status 400',
  ])
  const unknown = await ask('explain', 'no\u001bne')
  const isUnknown = expect.stringMatching(/^headrace explain: no\?ne is not known/) as string
  expect([unknown.code, unknown.stderr]).toEqual([1, isUnknown])
  child.stdin.end()
  expect(await ended).toMatchObject({ code: 3, stdout: '' })
  const gone = await ask('top')
  const isGone = expect.stringContaining(`nothing answers at ${new URL(link).host}`) as string
  expect([gone.code, gone.stderr]).toEqual([2, isGone])
})

it('2: the token or the link is wrong, or it is no inspector', async () => {
  const { url } = await receiverOf(() => ({ do: 'silence' }))
  const { link } = await inspected(url)
  const other = await served((_, response) => response.end('no\n'))
  for (const [L, sentence] of [
    [`${link}x`, 'the token is wrong: each run has another'],
    ['http://127.0.0.1:9/', 'names a variable without a link'],
    ['', 'names a variable of the environment that is empty'],
    [`${other}#t=x`, `${new URL(other).host} is no inspector`],
  ] as const)
    for (const command of [['top'], ['explain', 'A']])
      expect(await headrace([...command, '--inspect-env', 'L'], { env: { L } })).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringContaining(sentence) as unknown,
      })
})

it('2: the port is in use, and nothing is sent', async () => {
  const { url, received } = await receiverOf()
  const port = new URL(url).port
  const { code, stderr } = await headrace(['send', '--to', url, `--inspect=${port}`], { input: track('A') })
  expect([code, received.length]).toEqual([2, 0])
  expect(stderr).toContain(`headrace send: --inspect: port ${port} cannot be used: address already in use;`)
  const sentence = 'headrace demo: --inspect must be a whole number from 0 to 65535\n'
  expect(await headrace(['demo', '--inspect=x'])).toMatchObject({ code: 2, stderr: sentence })
  const apart = await headrace(['collect', '--inspect', '8000'])
  expect([apart.code, apart.stderr]).toEqual([2, expect.stringContaining('write --inspect=8000; see')])
  expect((await headrace(['send', '--help'])).stdout).toContain(' --inspect[=PORT] ')
})

test('collect has a part for each destination, also of a file that it reads again', async () => {
  const { url } = await picky()
  const fileOf = (...names: ReadonlyArray<string>) => {
    const destinations = names.map((name) => ({ name, sources: ['web'], webhooks: [{ url }] }))
    return { sources: [{ id: 'web', writeKey: 'k' }], destinations }
  }
  const config = configFile(fileOf('good', 'other'))
  const { says, complains, signal, ended } = start(['collect', '0', '--config', config, '--inspect'])
  const [link = ''] = /http:\S+#t=\S+/.exec(await complains(/#t=\S+\n/)) ?? []
  const [endpoint = ''] = /http:\S+/.exec(await says(/ready .*\n/)) ?? []
  const batch = ['batch', '--write-key-env', 'K', '--endpoint', endpoint]
  await headrace(batch, { env: { K: 'k' }, input: track('Bad') })
  await says(/rejected[^]*rejected/)
  const env = { L: link }
  const { stdout } = await headrace(['explain', 'Bad', '--inspect-env', 'L'], { env })
  expect(stdout).toMatch(/^good: Bad track rejected, 1 request\n[^]*^other: Bad track rejected/m)
  const headers = { authorization: `Bearer ${link.split('#t=')[1]}` }
  const ask = async (path: string, method = 'GET'): Promise<unknown> =>
    (await fetch(new URL(path, link), { method, headers })).json()
  expect(await ask('dead/0')).toMatchObject({ list: [{ id: 'Bad' }], count: 1 })
  expect(await ask('purge/0', 'POST')).toEqual({ count: 1 })
  expect(await ask('redrive/1', 'POST')).toEqual({ count: 1 })
  writeFileSync(config, JSON.stringify(fileOf('new', 'good')))
  signal('SIGHUP')
  await complains(/destination new added, destination other removed/)
  expect(await ask('dead/2')).toEqual({ list: [], count: 0 })
  expect(await ask('story/0/Bad')).toMatchObject({ state: 'Rejected' })
  expect((await headrace(['top', '--inspect-env', 'L'], { env })).stdout).toMatch(/new[^]*good/)
  signal()
  expect((await ended).code).toBe(3)
})

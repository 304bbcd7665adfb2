/** What the command says of the folders of outboxes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { notesOf } from '../../src/cli/forward.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, scratch, start, track } from './command.ts'

/** A folder in which so many events have died. */
const graveyard = async (count: number, keepDead = count): Promise<string> => {
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: 410 }))
  const path = `${scratch()}/outbox`
  const settings = { webhooks: [{ url: receiver.url }] }
  const destination = webhookDestination(settings, { outbox: { path, keepDead }, logger: false })
  const sent = Array.from({ length: count }, (_, at) =>
    destination.send({ type: 'track', userId: 'u1', event: 'Sold', messageId: `m${at}` }),
  )
  await Promise.all(sent)
  await destination.idle()
  await destination.close()
  await receiver.close()
  return path
}

it('tells of dead letters that made room for newer ones', async () => {
  const path = await graveyard(5, 2)
  const { stderr } = await headrace(['dead', 'ls', '--outbox', path])
  expect(stderr).toContain(
    '2 of 2 dead letters; 0 events wait; 3 older letters made room for these, and are gone',
  )
})

it('quiet is quiet', async () => {
  const path = await graveyard(1)
  for (const action of ['redrive', 'purge'])
    expect(await headrace(['dead', action, '--outbox', path, '--output', 'quiet'])).toMatchObject({
      code: 0,
      stdout: '',
    })
})

it('stops listing when nobody reads on', async () => {
  const path = await graveyard(2_500)
  const { child, ended } = start(['dead', 'ls', '--outbox', path])
  child.stdin.end()
  child.stdout.once('data', () => child.stdout.destroy())
  const { code, stderr } = await ended
  expect([code, stderr]).toEqual([0, ''])
})

it('a run says how many dead letters made room for newer ones in it', async () => {
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: 410 }))
  onTestFinished(receiver.close)
  const path = await graveyard(5, 2)
  const args = ['send', '--to', receiver.url, '--outbox', path, '--output', 'json']
  // Those of earlier runs were told then.
  const { stderr, stdout } = await headrace(args, { input: track('a') })
  expect(stderr).not.toContain('made room')
  expect(linesOf(stdout).at(-1)).toContain('"forgotten":0')

  const totals = { read: 9, refused: 0, accepted: 9, delivered: 0, rejected: 9 }
  const summary = { ...totals, expired: 0, dropped: 0, abandoned: 0, waiting: 0 }
  const stored = { room: 'free', unreadable: 0, forgotten: 3 } as const
  const account = { summary, stored, passed: 0, cut: false, inputError: undefined }
  expect(notesOf({ command: 'send', dead: undefined, outbox: 'box' }, account, undefined)).toEqual([
    '9 dead, and 3 letters made room for newer ones and are gone; the rest is kept in box: see headrace dead ls --outbox box',
  ])
})

const destination = (name: string, path: string, port = 9) => ({
  name,
  sources: ['web'],
  sharedSecret: 's',
  webhooks: [{ url: `http://127.0.0.1:${port}/` }],
  outbox: { path },
})

const config = (folder: string, ...destinations: ReadonlyArray<object>): string => {
  const file = `${folder}/collector.json`
  writeFileSync(file, JSON.stringify({ sources: [{ id: 'web', writeKey: 'wk' }], destinations }))
  return file
}

it('one folder for two destinations is wrong, however it is written', async () => {
  const folder = scratch()
  const file = config(folder, destination('a', './box'), destination('b', `${folder}/sub/../box/`))
  for (const args of [
    ['check', file],
    ['collect', '0', '--config', file],
  ]) {
    const { code, stderr } = await headrace(args, { cwd: folder })
    expect(stderr).toContain('destinations[1].outbox.path is the same as destinations[0].outbox.path')
    expect(code).toBe(2)
  }
})

it('says whose folder cannot be opened', async () => {
  const folder = scratch()
  const box = `${folder}/box`
  mkdirSync(box)
  writeFileSync(`${box}/data.mdb`, 'no store of ours')
  const { code, stderr } = await headrace(['collect', '0', '--config', config(folder, destination('a', box))])
  expect(stderr).toMatch(/^headrace collect: destination "a": .*data\.mdb was not written by headrace/)
  expect(code).toBe(2)
})

it('names a folder that a destination left behind', async () => {
  const path = await graveyard(1)
  const folder = path.replace(/\/outbox$/, '')
  const file = config(folder, destination('b', `${folder}/b`))
  const note = `the outbox in ${path} belongs to no destination of this file, so what waits there may be sent by nobody: see headrace dead ls --outbox ${path}`
  const checked = await headrace(['check', file])
  expect([checked.code, checked.stderr]).toEqual([0, `headrace check: ${note}\n`])

  const { child, ended, says } = start(['collect', '0', '--config', file])
  child.stdin.end()
  await says(/ready/)
  child.kill('SIGINT')
  expect((await ended).stderr).toContain(`headrace collect: ${note}\n`)
})

import { appendFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Received } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, receiverOf, scratch, start, track } from './inProcess.ts'

const eventIn = ({ body }: Received): string => (JSON.parse(body.toString()) as { event: string }).event

/** A receiver, a folder, and the flags of a command that sends into one from the other. */
const setUp = async (answer: (received: Received) => number = () => 200) => {
  const receiver = await receiverOf((received) => ({ do: 'status', code: answer(received) }))
  const folder = scratch()
  const outbox = `${folder}/outbox`
  const flags = ['--to', receiver.url, '--outbox', outbox, '--grace', '0s']
  const events = (): ReadonlyArray<string> => receiver.received.map(eventIn)
  return { receiver, outbox, file: `${folder}/events.ndjson`, flags, events }
}

const stopped = async (args: ReadonlyArray<string>, arrived: () => Promise<unknown>) => {
  const { stdin, signal, ended } = start(args)
  stdin.end()
  await arrived()
  signal()
  return ended
}

it('send --outbox sends more than may wait at a time', async () => {
  const { flags, events } = await setUp()
  const input = Array.from({ length: 20 }, (_, at) => track(`e${at}`)).join('')
  const { code, stderr } = await headrace(['send', ...flags, '--max-waiting', '2'], { input })
  expect([stderr, new Set(events()).size, code]).toEqual([expect.stringContaining('delivered 20'), 20, 0])
})

it('2: nothing that waits is sent if the port of --inspect is in use', async () => {
  let code = 503
  const { receiver, file, flags } = await setUp(() => code)
  writeFileSync(file, track('a'))
  await stopped(['send', file, ...flags], () => receiver.arrived(1))
  code = 200
  expect((await headrace(['send', file, ...flags, `--inspect=${new URL(receiver.url).port}`])).code).toBe(2)
  expect(receiver.received.length).toBe(1)
  expect((await headrace(['send', file, ...flags])).stderr).toContain('delivered 1')
})

it('a line that was refused at the end of a file is not read again, unless it may still be written to', async () => {
  const { file, flags } = await setUp()
  writeFileSync(file, `${track('a')}no JSON\n`)
  expect((await headrace(['send', file, ...flags])).stderr).toContain('read 2 (1 refused)')
  expect((await headrace(['send', file, ...flags])).stderr).toContain('the input holds nothing new')
  appendFileSync(file, track('b').slice(0, 9))
  expect((await headrace(['send', file, ...flags])).stderr).toContain('read 1 (1 refused)')
  appendFileSync(file, track('b').slice(9))
  expect((await headrace(['send', file, ...flags])).stderr).toContain('read 1 · delivered 1')
})

describe('a file that an earlier run did not read to its end', () => {
  it('is refused when what was read of it has changed, and what waits is delivered', async () => {
    let code = 503
    const { receiver, file, flags, events } = await setUp(() => code)
    writeFileSync(file, track('a') + track('heartbeat') + track('b'))
    await stopped(['send', file, ...flags, '--max-waiting', '2'], () => receiver.arrived(2))
    writeFileSync(file, track('x') + track('heartbeat') + track('b') + track('y'))
    code = 200
    const second = await headrace(['send', file, ...flags])
    expect(second.stderr).toMatch(/not the file that an earlier run read up to line 2 .*--from-start/)
    expect([second.code, events().slice(-2).sort()]).toEqual([1, ['a', 'heartbeat']])
  })

  it('is read from its first line with --from-start', async () => {
    let code = 503
    const { receiver, file, flags, events } = await setUp(() => code)
    writeFileSync(file, track('a') + track('b') + track('c'))
    const first = await stopped(['send', file, ...flags, '--max-waiting', '2'], () => receiver.arrived(2))
    expect(first.stderr).toMatch(/waiting 2[^]*the same command sends them, and reads on from here/)
    expect([5, 7]).toContain(first.code)
    writeFileSync(file, track('x') + track('y'))
    code = 200
    const again = await headrace(['send', file, ...flags, '--from-start'])
    expect(again.stderr).toContain('delivered 4')
    expect(linesOf(again.stdout).filter((line) => line.startsWith('delivered  earlier'))).toHaveLength(2)
    expect(events().slice(-4).sort()).toEqual(['a', 'b', 'x', 'y'])
    const third = await headrace(['send', file, ...flags])
    const told = expect.stringMatching(/going on after line 2;[^]*the input holds nothing new/) as string
    expect(third).toMatchObject({ code: 0, stderr: told })
  })
})

describe('a file that was read to its end', () => {
  it('is read on when it has grown, even when its last line was not whole', async () => {
    const { file, flags, events } = await setUp()
    const last = track('c')
    writeFileSync(file, track('a') + track('b') + last.slice(0, 20))
    expect((await headrace(['send', file, ...flags])).code).toBe(4)
    appendFileSync(file, `${last.slice(20)}\n${track('d')}oops\n`)
    const second = await headrace(['send', file, ...flags])
    expect(second.stderr).toContain(`${file}: going on after line 2`)
    expect(second.stderr).toContain('refused    line 6')
    expect(events()).toEqual(['a', 'b', 'c', 'd'])
    appendFileSync(file, track('e').trimEnd())
    await headrace(['send', file, ...flags])
    appendFileSync(file, `\n${track('f')}`)
    await headrace(['send', file, ...flags])
    expect(events()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('is read from its first line when it was replaced', async () => {
    const { file, flags, events } = await setUp()
    writeFileSync(file, track('a') + track('b'))
    await headrace(['send', file, ...flags])
    writeFileSync(file, track('x') + track('b') + track('y'))
    const { stderr, code } = await headrace(['send', file, ...flags])
    expect(stderr).toContain(
      `${file} is not the file that an earlier run read: reading it from its first line`,
    )
    expect([events(), code]).toEqual([['a', 'b', 'x', 'b', 'y'], 0])
  })

  it('is not sent again because a dead letter was put back to wait', async () => {
    let code = 410
    const { file, flags, outbox, receiver, events } = await setUp(({ body }) =>
      body.toString().includes('"b"') ? code : 200,
    )
    writeFileSync(file, track('a') + track('b') + track('c'))
    expect((await headrace(['send', file, ...flags])).code).toBe(3)
    code = 200
    const { stderr } = await headrace(['dead', 'redrive', '--outbox', outbox, '--yes'])
    expect(stderr).toContain(`headrace send --outbox ${outbox} --to URL`)
    await headrace(['send', file, ...flags])
    expect(events()).toEqual(['a', 'b', 'c', 'b'])
    expect((await headrace(['send', ...flags])).stderr).toContain(`nothing waited in ${outbox}`)
    expect(receiver.received.length).toBe(4)
  })
})

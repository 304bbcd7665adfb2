import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Received } from '../../src/testing/loopbackReceiver.ts'
import { headrace, scratch, start, track } from './command.ts'

/** A receiver, a folder, and a command that sends into one from the other. */
const setUp = async (answer: (received: Received) => number = () => 200) => {
  const receiver = await loopbackReceiver((received) => ({ do: 'status', code: answer(received) }))
  onTestFinished(receiver.close)
  const folder = scratch()
  const outbox = `${folder}/outbox`
  const file = `${folder}/events.ndjson`
  const flags = ['--to', receiver.url, '--outbox', outbox, '--grace', '0s']
  const events = (): ReadonlyArray<string> => receiver.received.map(eventIn)
  return { receiver, folder, outbox, file, flags, events }
}

const eventIn = ({ body }: Received): string => (JSON.parse(body.toString()) as { event: string }).event

/** Runs a command that is stopped when so many requests have come. */
const stopped = async (args: ReadonlyArray<string>, arrived: () => Promise<unknown>): Promise<void> => {
  const { child, ended } = start(args)
  child.stdin.end()
  await arrived()
  child.kill('SIGINT')
  await ended
}

describe('an input that an earlier run has begun', () => {
  it('is not taken for the same when only the last line that was taken is', async () => {
    let code = 503
    const { receiver, file, flags, events } = await setUp(() => code)
    writeFileSync(file, track('a') + track('heartbeat') + track('b'))
    await stopped(['send', file, ...flags, '--max-waiting', '2'], () => receiver.arrived(2))
    writeFileSync(file, track('x') + track('heartbeat') + track('b') + track('y'))
    code = 200
    const second = await headrace(['send', file, ...flags])
    expect(second.stderr).toMatch(/its first 2 lines are not those that an earlier run took.*--from-start/)
    expect(second.code).toBe(1)
    expect(events().slice(-2).sort()).toEqual(['a', 'heartbeat'])
  })

  it('is read from its first line when that is asked for', async () => {
    let code = 503
    const { receiver, file, flags, events } = await setUp(() => code)
    writeFileSync(file, track('a') + track('b') + track('c'))
    await stopped(['send', file, ...flags, '--max-waiting', '2'], () => receiver.arrived(2))
    writeFileSync(file, track('x') + track('y'))
    code = 200
    const again = await headrace(['send', file, ...flags, '--from-start'])
    expect(again.stderr).toContain('4 accepted = 4 delivered')
    expect(events().slice(-4).sort()).toEqual(['a', 'b', 'x', 'y'])
    // And so it has begun anew.
    const third = await headrace(['send', file, ...flags])
    expect(third.stderr).toContain(
      `2 lines of ${file} were taken by an earlier run; --from-start sends them again`,
    )
    expect(third.stderr).toContain('the input holds nothing new')
    expect(third.code).toBe(0)
  })

  it('--from-start without an outbox is a mistake', async () => {
    const { code, stderr } = await headrace(['send', '--to', 'http://127.0.0.1:9/', '--from-start'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--from-start has a meaning only with --outbox'),
    ])
  })
})

describe('an input that was taken to its end', () => {
  it('goes on where it ended when it has grown, even behind half a line', async () => {
    const { file, flags, events } = await setUp()
    const last = track('c')
    writeFileSync(file, track('a') + track('b') + last.slice(0, 20))
    const first = await headrace(['send', file, ...flags])
    expect(first.code).toBe(4)
    appendFileSync(file, last.slice(20) + track('d'))
    const second = await headrace(['send', file, ...flags])
    expect(second.stderr).toContain(`2 lines of ${file} were taken by an earlier run`)
    expect(second.stderr).toContain('2 accepted = 2 delivered')
    expect(events()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('is another one when it does not begin as it did', async () => {
    const { file, flags, events } = await setUp()
    writeFileSync(file, track('a') + track('b'))
    await headrace(['send', file, ...flags])
    writeFileSync(file, track('x') + track('b') + track('y'))
    const { stderr, code } = await headrace(['send', file, ...flags])
    expect(stderr).toContain(
      `${file} is not what an earlier run took to its end: it is read from its first line`,
    )
    expect(events()).toEqual(['a', 'b', 'x', 'b', 'y'])
    expect(code).toBe(0)
  })

  it('is not sent again because something of it was put back to wait', async () => {
    let code = 410
    const { file, flags, outbox, receiver, events } = await setUp(({ body }) =>
      body.toString().includes('"b"') ? code : 200,
    )
    writeFileSync(file, track('a') + track('b') + track('c'))
    expect((await headrace(['send', file, ...flags])).code).toBe(3)
    code = 200
    const { stderr } = await headrace(['dead', 'redrive', '--outbox', outbox, '--yes'])
    expect(stderr).toContain(`send them with: headrace send --outbox ${outbox} --to URL`)
    await headrace(['send', file, ...flags])
    expect(events()).toEqual(['a', 'b', 'c', 'b'])

    const idle = await headrace(['send', ...flags])
    expect(idle.stderr).toContain(`nothing waited in ${outbox}`)
    expect(receiver.received.length).toBe(4)
  })

  it('a path that is longer than a name may be is remembered too', async () => {
    const { folder, flags, events } = await setUp()
    const deep = `${folder}/${Array.from({ length: 9 }, () => 'd'.repeat(240)).join('/')}`
    mkdirSync(deep, { recursive: true })
    writeFileSync(`${deep}/in.ndjson`, track('a'))
    expect((await headrace(['send', 'in.ndjson', ...flags], { cwd: deep })).code).toBe(0)
    appendFileSync(`${deep}/in.ndjson`, track('b'))
    expect((await headrace(['send', 'in.ndjson', ...flags], { cwd: deep })).code).toBe(0)
    expect(events()).toEqual(['a', 'b'])
  })
})

describe('an input that is no file', () => {
  it('is another one the next time, whatever its name', async () => {
    const { folder, flags, events } = await setUp()
    const pipe = `${folder}/pipe`
    execFileSync('mkfifo', [pipe])
    const through = async (text: string) => {
      const { ended, child } = start(['send', pipe, ...flags])
      child.stdin.end()
      await writeFile(pipe, text)
      return ended
    }
    expect((await through(track('a') + track('b'))).code).toBe(0)
    // It begins as the one before it, and all of it is new.
    expect((await through(track('a') + track('b') + track('c'))).code).toBe(0)
    expect(events()).toEqual(['a', 'b', 'a', 'b', 'c'])
  })
})

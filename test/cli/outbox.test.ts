import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Fault } from '../../src/testing/faults.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Received } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, recordsOf, scratch, start, track } from './command.ts'

const receiverOf = async (script: (received: Received) => Fault) => {
  const receiver = await loopbackReceiver(script)
  onTestFinished(receiver.close)
  return receiver
}

/** Lines without ids: a repetition cannot be told by them. */
const nameless = (count: number): string =>
  Array.from(
    { length: count },
    (_, at) => `${JSON.stringify({ type: 'track', userId: 'u1', event: `e${at}` })}\n`,
  ).join('')

const eventIn = ({ body }: Received): string => (JSON.parse(body.toString()) as { event: string }).event

const taken: Fault = { do: 'status', code: 200 }
const down: Fault = { do: 'status', code: 503 }

describe('send --outbox', () => {
  it('a run that is killed and started again delivers every line, and none that was delivered before twice', async () => {
    let delivered = 0
    let healthy = 200
    const receiver = await receiverOf(() => (delivered++ < healthy ? taken : down))
    const folder = scratch()
    const file = `${folder}/events.ndjson`
    const count = 600
    writeFileSync(file, nameless(count))
    const args = ['send', file, '--to', receiver.url, '--outbox', `${folder}/outbox`, '--output', 'json']

    const first = start(args)
    await receiver.arrived(healthy + 20)
    first.child.kill('SIGKILL')
    await first.ended
    const before = receiver.received.slice(0, healthy).map(eventIn)

    healthy = Infinity
    const { code, stdout } = await headrace(args)
    expect(recordsOf(stdout).at(-1)).toMatchObject({ t: 'summary', refused: 0, waiting: 0, rejected: 0 })
    const all = receiver.received.filter((_, at) => at < 200 || at >= receiver.received.length - (count + 16))
    const names = new Set([...before, ...all.map(eventIn)])
    expect(names.size).toBe(count)
    // What had ended and was synced is not sent again; the last ones before the kill may be.
    const again = recordsOf(stdout).filter(({ outcome }) => outcome === 'delivered').length
    expect(again).toBeGreaterThanOrEqual(count - healthyBefore(before))
    expect(again).toBeLessThan(count - healthyBefore(before) / 2)
    expect(code).toBe(0)

    const third = await headrace([...args, '--output', 'lines', '--from-start'])
    expect(third.stderr).toContain(`${count} read = ${count} accepted`)
  })

  it('sends more than may wait at a time', async () => {
    const receiver = await receiverOf(() => taken)
    const args = ['send', '--to', receiver.url, '--outbox', `${scratch()}/outbox`, '--max-waiting', '2']
    const { code, stderr } = await headrace(args, { input: nameless(20) })
    expect(stderr).toContain('20 accepted = 20 delivered')
    expect(code).toBe(0)
  })

  it('goes on after a stop in good order, and says so', async () => {
    let healthy = false
    const receiver = await receiverOf(() => (healthy ? taken : down))
    const folder = scratch()
    const file = `${folder}/events.ndjson`
    writeFileSync(file, track('a') + track('b'))
    const args = ['send', file, '--to', receiver.url, '--outbox', `${folder}/outbox`, '--grace', '0s']
    const first = start(args)
    first.child.stdin.end()
    await receiver.arrived(2)
    first.child.kill('SIGINT')
    const stopped = await first.ended
    expect(stopped.stderr).toContain('2 accepted = 2 waiting')
    expect(stopped.stderr).toContain('the same command goes on with them')
    expect([5, 7]).toContain(stopped.code)

    healthy = true
    const { code, stdout } = await headrace(args)
    expect(linesOf(stdout).filter((line) => line.startsWith('delivered  earlier'))).toHaveLength(2)
    expect(code).toBe(0)
  })

  it('does not take a changed file for the one that it has begun', async () => {
    const receiver = await receiverOf(() => down)
    const folder = scratch()
    const file = `${folder}/events.ndjson`
    writeFileSync(file, track('a') + track('b') + track('c'))
    const to = ['--to', receiver.url, '--outbox', `${folder}/outbox`, '--grace', '0s', '--max-waiting', '2']
    const args = ['send', file, ...to]
    const first = start(args)
    first.child.stdin.end()
    await receiver.arrived(2)
    first.child.kill('SIGINT')
    await first.ended
    writeFileSync(file, track('x') + track('y') + track('z'))
    const second = start(args)
    second.child.stdin.end()
    await second.complains(/its first 2 lines are not those that an earlier run took.*--from-start/)
    second.child.kill('SIGINT')
    expect((await second.ended).code).toBe(1)
  })

  it('says when the folder cannot be had', async () => {
    const { code, stderr } = await headrace([
      'send',
      '--to',
      'http://127.0.0.1:9/',
      '--outbox',
      '/dev/null/outbox',
    ])
    expect(stderr).toMatch(/^headrace send: --outbox: /)
    expect(code).toBe(2)
  })
})

const healthyBefore = (before: ReadonlyArray<string>): number => new Set(before).size

describe('dead', () => {
  const buried = async () => {
    let code = 410
    const receiver = await receiverOf(() => ({ do: 'status', code }))
    const folder = scratch()
    const file = `${folder}/events.ndjson`
    writeFileSync(file, track('a') + track('b', { type: 'identify', event: undefined }))
    const outbox = `${folder}/outbox`
    const args = ['send', file, '--to', receiver.url, '--outbox', outbox]
    const sent = await headrace(args)
    expect(sent.stderr).toContain(`2 dead, kept in ${outbox}: see headrace dead ls --outbox ${outbox}`)
    return { receiver, outbox, recover: () => (code = 200) }
  }

  it('lists, shows, counts first, and puts back what is meant', async () => {
    const { outbox, receiver, recover } = await buried()
    const ls = await headrace(['dead', 'ls', '--outbox', outbox])
    expect(linesOf(ls.stdout)).toEqual([
      expect.stringMatching(/^1 +rejected +\S+Z +track +a +http.* 410, after 1 attempts$/),
      expect.stringMatching(/^2 +rejected +\S+Z +identify +b +http.* 410, after 1 attempts$/),
    ])
    expect(ls.stderr).toContain('2 of 2 dead letters; 0 events wait')

    const some = await headrace([
      'dead',
      'ls',
      '--outbox',
      outbox,
      '--kind',
      'identify',
      '--since',
      '1h',
      '--output',
      'json',
    ])
    const [record, ...rest] = recordsOf(some.stdout)
    expect(rest).toEqual([])
    expect(record).toMatchObject({
      v: 1,
      t: 'dead',
      outcome: 'rejected',
      call: { type: 'identify', userId: 'u1' },
    })

    const shown = await headrace(['dead', 'show', '1', '--outbox', outbox])
    expect(JSON.parse(shown.stdout)).toMatchObject({
      id: '1',
      causes: [{ status: 410 }],
      call: { event: 'a' },
    })
    expect((await headrace(['dead', 'show', '9', '--outbox', outbox])).code).toBe(1)

    const none = await headrace(['dead', 'redrive', '--outbox', outbox, '--status', '503'])
    expect(none.stdout).toBe('0 of 2 dead letters would be put back to wait; do it with --yes\n')
    const preview = await headrace(['dead', 'redrive', '--outbox', outbox, '--status', '410'])
    expect(preview.stdout).toBe(
      '2 of 2 dead letters: 2 rejected would be put back to wait; do it with --yes\n',
    )

    const put = await headrace(['dead', 'redrive', '--outbox', outbox, '--kind', 'track', '--yes'])
    expect(put.stdout).toBe('1 dead letters were put back to wait\n')
    recover()
    const before = receiver.received.length
    const next = await headrace(['send', '--outbox', outbox, '--to', receiver.url], { input: '' })
    expect(next.code).toBe(0)
    expect(receiver.received.slice(before).map(eventIn)).toEqual(['a'])

    const purged = await headrace(['dead', 'purge', '--outbox', outbox, '--yes'])
    expect(purged.stdout).toBe('1 dead letters were forgotten for good\n')
    expect((await headrace(['dead', 'ls', '--outbox', outbox])).stderr).toContain('0 of 0 dead letters')
  })

  it('bad arguments name the flag and the way out, and make no folder', async () => {
    const folder = scratch()
    const missing = await headrace([
      'dead',
      'ls',
      '--outbox',
      `${folder}/nope`,
      '--status',
      'soon',
      '--since',
      'then',
      '--kind',
      'sold',
    ])
    expect(linesOf(missing.stderr)).toEqual([
      expect.stringContaining('there is no such folder'),
      expect.stringContaining('--status must be a whole number'),
      expect.stringContaining('--kind must be page'),
      expect.stringContaining('--since must be a time'),
    ])
    expect(missing.code).toBe(2)
    expect(() => readFileSync(`${folder}/nope`)).toThrow()
    expect((await headrace(['dead', 'ls'])).code).toBe(2)
  })
})

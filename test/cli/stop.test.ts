import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import { linesOf, recordsOf, scratch, start, track } from './command.ts'

/** It answers events named Down with 503, leaves those named Silent unanswered, and takes the others. */
const receiver = async (): Promise<Receiver> => {
  const opened = await loopbackReceiver(({ body }) => {
    if (body.includes('"event":"Silent"')) return { do: 'silence' }
    return { do: 'status', code: body.includes('"event":"Down"') ? 503 : 200 }
  })
  onTestFinished(opened.close)
  return opened
}

describe('Ctrl-C', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s stops reading, and what was read is accounted for',
    async (signal) => {
      const { url } = await receiver()
      const { child, says, ended } = start(['send', '--to', url])
      child.stdin.write(track('A'))
      await says(/^delivered/m)
      child.kill(signal)
      const { code, stderr } = await ended
      expect(code).toBe(7)
      expect(stderr).toContain('headrace: stopping: what is on its way may end; once more to stop at once\n')
      expect(stderr).toContain('headrace: 1 read = 1 accepted + 0 refused; 1 accepted = 1 delivered\n')
      expect(stderr).toContain('headrace: stopped: the input was not read to its end\n')
    },
  )

  it('hands back what waits for a retry, to be sent again', async () => {
    const { url } = await receiver()
    const dead = `${scratch()}/dead`
    const flags = ['--output', 'json', '--grace', '0s', '--dead', dead]
    const { child, says, ended } = start(['send', '--to', url, ...flags])
    child.stdin.end(track('A') + track('Down'))
    await says(/"t":"outcome".*\n[^]*"t":"waiting"|"t":"waiting".*\n[^]*"t":"outcome"/)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect(code).toBe(7)
    expect(recordsOf(stdout).at(-1)).toMatchObject({ accepted: 2, delivered: 1, abandoned: 1, waiting: 0 })
    const [letter] = recordsOf(readFileSync(dead, 'utf8'))
    expect(letter).toMatchObject({ event: 'Down', messageId: 'Down' })
    expect(letter?.['reason']).toMatch(/^abandoned: stopped while it waited for its next attempt; .* 503$/)
  })

  it('lets what is on its way arrive', async () => {
    const opened = await loopbackReceiver([{ do: 'status', code: 200, after: 300 }])
    onTestFinished(opened.close)
    const { child, ended } = start(['send', '--to', opened.url])
    child.stdin.write(track('A'))
    await opened.arrived(1)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect(stderr).toContain('1 accepted = 1 delivered')
    expect(code).toBe(7)
  })

  it('twice stops at once: what is not known to be delivered is kept', async () => {
    const opened = await receiver()
    const dead = `${scratch()}/dead`
    const { child, complains, ended } = start([
      'send',
      '--to',
      opened.url,
      '--timeout',
      '10m',
      '--dead',
      dead,
    ])
    child.stdin.end(track('Silent'))
    await opened.arrived(1)
    child.kill('SIGINT')
    await complains(/stopping/)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect(code).toBe(5)
    expect(stderr).toContain('1 accepted = 1 waiting\n')
    expect(recordsOf(readFileSync(dead, 'utf8'))).toMatchObject([
      { event: 'Silent', reason: 'abandoned: stopped at once' },
    ])
  })

  it('while it waits for room, too', async () => {
    const opened = await receiver()
    const { child, ended } = start([
      'send',
      '--to',
      opened.url,
      '--max-waiting',
      '2',
      '--grace',
      '0s',
      '--timeout',
      '300ms',
    ])
    child.stdin.write(track('Silent').repeat(5))
    await opened.arrived(2)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    // The third was read from the pipe and never taken, so it does not count as read.
    expect(stderr).toContain('2 read = 2 accepted + 0 refused; 2 accepted = 2 abandoned\n')
    expect(code).toBe(5)
  })
})

it('goes on delivering when whoever reads its output has gone', async () => {
  const { url, received } = await receiver()
  const { child, says, ended } = start(['send', '--to', url])
  child.stdin.write(track('A'))
  await says(/^delivered/)
  child.stdout.destroy()
  const more = Array.from({ length: 200 }, (_, at) => track(`more ${at}`))
  child.stdin.end(more.join(''))
  const { code, stderr } = await ended
  expect(code).toBe(0)
  expect(received.length).toBe(201)
  expect(linesOf(stderr).at(-1)).toBe(
    'headrace: 201 read = 201 accepted + 0 refused; 201 accepted = 201 delivered',
  )
})

it('reads no further than --max-waiting', async () => {
  const opened = await receiver()
  const flags = ['--max-waiting', '3', '--timeout', '10m', '--output', 'json']
  const { child, complains } = start(['send', '--to', opened.url, ...flags])
  child.stdin.write(`${track('Silent').repeat(3)}oops\n${track('Silent')}oops\n`)
  // The bad line behind the third is looked at, the one behind the fourth is not: the fourth waits for room.
  await complains(/^refused {4}line 4/m)
  await opened.arrived(3)
  const { connections, received } = opened
  expect([connections(), received.length]).toEqual([3, 3])
})

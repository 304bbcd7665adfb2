import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, recordsOf, scratch, track } from './command.ts'
import { picky } from './picky.ts'

const once = ['--retry-for', '0s']

describe('--dead', () => {
  it('keeps what was not delivered in the form in which it came, and it can be sent again', async () => {
    const folder = scratch()
    const dead = `${folder}/dead.ndjson`
    const event = {
      type: 'track',
      messageId: 'm-1',
      timestamp: '2024-02-29T12:00:00.000Z',
      userId: 'u1',
      event: 'Bad',
      properties: { ö: [1, null], reason: 'mine' },
      integrations: { All: true },
    }
    const alias = {
      type: 'alias',
      messageId: 'm-2',
      timestamp: event.timestamp,
      previousId: 'a',
      userId: 'b',
    }
    const input = [event, alias].map((each) => `${JSON.stringify(each)}\n`).join('')
    const first = await headrace(['send', '--to', 'http://127.0.0.1:9/', ...once, '--dead', dead], { input })
    expect(first.code).toBe(5)
    expect(first.stderr).toContain(
      `headrace: 2 not delivered, now in ${dead}; send them again with: headrace send ${dead} …\n`,
    )
    const { readFileSync } = await import('node:fs')
    const letters = recordsOf(readFileSync(dead, 'utf8'))
    const reason =
      'expired: http://127.0.0.1:9/ network (connection refused: nothing listens there; no request was sent)'
    expect(letters).toEqual([
      { ...event, reason },
      { ...alias, reason },
    ])

    const receiver = await loopbackReceiver()
    onTestFinished(receiver.close)
    const second = await headrace(['send', dead, '--to', receiver.url])
    expect(second.code).toBe(0)
    const bodies = receiver.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    const { integrations: _, ...sent } = event
    const byType = (a: Record<string, unknown>, b: Record<string, unknown>) =>
      String(a['type']) < String(b['type']) ? -1 : 1
    expect([...bodies].sort(byType)).toEqual([
      expect.objectContaining({ 'Previous ID': 'a', 'User ID': 'b', messageId: 'm-2' }),
      expect.objectContaining(sent),
    ])
  })

  it('is not made when there is nothing for it, and what is in it stays', async () => {
    const folder = scratch()
    const { url } = await picky()
    await headrace(['send', '--to', url, '--dead', `${folder}/none`], { input: track('A') })
    const { existsSync, readFileSync } = await import('node:fs')
    expect(existsSync(`${folder}/none`)).toBe(false)
    writeFileSync(`${folder}/some`, '{"type":"delete","userId":"u"}')
    await headrace(['send', '--to', url, '--dead', `${folder}/some`], { input: track('Bad') })
    expect(linesOf(readFileSync(`${folder}/some`, 'utf8')).length).toBe(2)
  })

  it('is checked before anything is sent', async () => {
    const folder = scratch()
    writeFileSync(`${folder}/events`, track('A'))
    const { url, received } = await picky()
    const sentences: ReadonlyArray<readonly [path: string, RegExp]> = [
      [`${folder}/events`, /--dead is the file that is read: give another one/],
      [folder, /--dead '.*' is a folder: give the name of a file/],
      [`${folder}/no/dead`, /--dead '.*' cannot be written: there is no such file or folder/],
      ['', /--dead must be the name of a file/],
    ]
    for (const [path, sentence] of sentences) {
      const { code, stderr } = await headrace(['send', `${folder}/events`, '--to', url, '--dead', path])
      expect(stderr).toMatch(sentence)
      expect(code).toBe(2)
    }
    expect(received).toEqual([])
  })

  it('tells when it cannot be written after all', async () => {
    const { url } = await picky()
    const { code, stderr } = await headrace(['send', '--to', url, '--dead', '/dev/full'], {
      input: track('A') + track('Bad'),
    })
    expect(code).toBe(1)
    expect(stderr).toContain(
      "headrace: --dead '/dev/full' could not be written: the disk is full; 1 events are not in it\n",
    )
  })
})

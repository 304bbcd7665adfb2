import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { onlyAttempt, type Sink } from '../../src/index.ts'
import { ndjson } from '../../src/sink/ndjson.ts'
import { batchOf } from '../support/batches.ts'
import { newFolder } from '../support/folder.ts'
import { deliverOnce, payloadOf } from './deliverOnce.ts'
import { bodyOf, jsonArrayFrame, type Payload } from '../../src/event/payload.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const verdictOf = async <A>(sink: Sink<A>, item: A) => (await deliverOnce(sink, item)).verdicts[0]

const delivered = (sink: string) => ({ _tag: 'Right', right: { sink } })
const failed = (tag: 'Refused' | 'Retryable', reason: string, detail: string) => ({
  _tag: 'Left',
  left: { _tag: tag, reason, detail },
})

const systemError = (code: string) => Object.assign(new Error(`${code}: the text of the system`), { code })

describe('ndjson to a stream', () => {
  it('writes the body of a payload and of a batch', async () => {
    const lines: string[] = []
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk))
        done()
      },
    })
    const batch = { ...batchOf(2), frame: jsonArrayFrame }
    const sink = ndjson<Payload<unknown>>(stream, { name: 'out' })
    for (const payload of [payloadOf('{"n":1}', { items: [1n] }), batch])
      expect(await verdictOf<Payload<unknown>>(sink, payload)).toEqual(delivered('out'))
    expect(lines).toEqual(['{"n":1}\n', `${bodyOf(batch, 0)}\n`])
  })

  it('refuses an item that is not one line, without quoting it', async () => {
    const sink = ndjson<unknown>(new PassThrough(), {
      format: (item) => {
        if (item === 'throw') throw new TypeError('secret')
        return item as string
      },
    })
    for (const [item, detail] of [
      ['two\nlines', 'a line must not contain a line break'],
      ['throw', 'format threw TypeError'],
      [undefined, 'the item has no JSON form'],
    ] as const)
      expect(await verdictOf<unknown>(sink, item)).toEqual(failed('Refused', 'format', detail))
    const byDefault = ndjson<unknown>(new PassThrough())
    expect(await verdictOf<unknown>(byDefault, 1n)).toMatchObject({ left: { reason: 'format' } })
  })

  it('refuses for good when the stream has failed, with any value, was ended or destroyed', async () => {
    for (const [error, detail] of [
      [systemError('EPIPE'), 'EPIPE'],
      [{ code: 'EIO' }, 'EIO'],
      ['disk gone', 'string'],
      [runInNewContext('new RangeError()'), 'RangeError'],
    ] as ReadonlyArray<[Error, string]>) {
      const sink = ndjson<string>(new Writable({ write: (_chunk, _encoding, done) => done(error) }))
      expect(await verdictOf(sink, 'a')).toEqual(failed('Refused', 'closed', detail))
      expect(await verdictOf(sink, 'b')).toEqual(failed('Refused', 'closed', 'the stream is closed'))
    }

    const ended = new PassThrough()
    const destroyed = new PassThrough()
    const sinks = [ndjson<string>(ended), ndjson<string>(destroyed)]
    ended.end()
    destroyed.destroy(new Error('destroyed'))
    for (const each of sinks)
      expect(await verdictOf(each, 'a')).toMatchObject({ left: { _tag: 'Refused', reason: 'closed' } })
  })

  it('close leaves the stream open, without a listener on it', async () => {
    const stream = new PassThrough()
    stream.resume()
    const before = stream.listenerCount('error')
    const sink = ndjson<string>(stream)
    expect(await verdictOf(sink, 'a')).toEqual(delivered('ndjson'))
    await Promise.all([sink.close({ timeout: 10 }), sink.close({ timeout: 10 })])
    expect([stream.writable, stream.listenerCount('error')]).toEqual([true, before])
    expect(await verdictOf(sink, 'b')).toMatchObject({ left: { _tag: 'Retryable', reason: 'closed' } })
  })

  it('close waits for a slow stream, but not longer than its timeout', async () => {
    const clock = virtualClock()
    const sink = ndjson<string>(new Writable({ write: () => undefined }))
    sink.deliver('a', onlyAttempt).subscribe()
    let closed = false
    void sink.close({ timeout: 50, clock }).then(() => (closed = true))
    await clock.advance(49)
    expect(closed).toBe(false)
    await clock.advance(1)
    expect([closed, clock.pending()]).toEqual([true, 0])
  })
})

describe('ndjson to a file', () => {
  it('appends, many at once, and close waits for all lines', async () => {
    const path = join(newFolder(), 'all')
    for (const part of [0, 1]) {
      const sink = ndjson<number>(path)
      const verdicts = Promise.all(Array.from({ length: 500 }, (_, i) => verdictOf(sink, part * 500 + i)))
      await sink.close({ timeout: 10_000 })
      expect(await verdicts).toEqual(Array.from({ length: 500 }, () => delivered(path)))
    }
    const lines = (await readFile(path, 'utf8')).split('\n')
    expect(lines).toEqual([...Array.from({ length: 1_000 }, (_, i) => String(i)), ''])
  })

  it('H10: makes a file for this user alone, at the first line', async () => {
    const path = join(newFolder(), 'mode')
    const sink = ndjson<number>(path)
    for (const target of ['', undefined, {}]) expect(() => ndjson(target as string)).toThrow(/the path of/)
    await expect(stat(path)).rejects.toThrow('ENOENT')
    await verdictOf(sink, 1)
    await sink.close({ timeout: 1_000 })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('starts a new line after a torn one', async () => {
    const path = join(newFolder(), 'torn')
    await writeFile(path, '{"a":1}\n{"b":')
    const sink = ndjson<number>(path)
    expect(await verdictOf(sink, 2)).toEqual(delivered(path))
    await sink.close({ timeout: 1_000 })
    expect(await readFile(path, 'utf8')).toBe('{"a":1}\n{"b":\n2\n')
  })

  it('fails as retryable with the code of the system while the file cannot be opened, then writes', async () => {
    const folder = newFolder()
    expect(await verdictOf(ndjson<number>(folder), 1)).toEqual(failed('Retryable', 'io', 'EISDIR'))
    const path = join(folder, 'later', 'out')
    const sink = ndjson<number>(path)
    expect(await verdictOf(sink, 1)).toEqual(failed('Retryable', 'io', 'ENOENT'))
    await mkdir(join(folder, 'later'))
    expect(await verdictOf(sink, 1)).toEqual(delivered(path))
    await sink.close({ timeout: 1_000 })
    expect(await readFile(path, 'utf8')).toBe('1\n')
  })
})

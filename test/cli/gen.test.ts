import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { ParsedEvent, encodePayload, toWebhookBody } from '../../src/event/index.ts'
import { failing, headrace, linesOf, recordsOf } from './inProcess.ts'

const isRefused = (call: unknown): boolean => {
  const decoded = ParsedEvent.decode(call)
  return isLeft(decoded) || isLeft(encodePayload('m', call, toWebhookBody(decoded.right)))
}

it('writes calls that are events, the same for the same seed', async () => {
  const { code, stdout, stderr } = await headrace(['gen', '-n', '300', '--seed', '7'])
  expect([code, stderr]).toEqual([0, ''])
  const calls = recordsOf(stdout)
  expect(calls).toHaveLength(300)
  expect([calls.some(isRefused), new Set(calls.map(({ messageId }) => messageId)).size]).toEqual([false, 300])
  expect(new Set(calls.map(({ type }) => type)).size).toBe(7)
  const longer = await headrace(['gen', '--count', '600', '--seed', '7'])
  expect(linesOf(longer.stdout).slice(0, 300)).toEqual(linesOf(stdout))
  expect((await headrace(['gen', '-n', '1', '--seed', '8'])).stdout).not.toBe(`${linesOf(stdout)[0] ?? ''}\n`)
})

it('writes only the kinds that are asked for', async () => {
  const { stdout } = await headrace(['gen', 'alias', 'group', '-n', '50'])
  expect(new Set(recordsOf(stdout).map(({ type }) => type))).toEqual(new Set(['alias', 'group']))
})

it('makes a share of them invalid, and send would refuse those', async () => {
  const all = await headrace(['gen', '-n', '200', '--invalid', '100%'])
  expect(recordsOf(all.stdout).every(isRefused)).toBe(true)
  const few = await headrace(['gen', '-n', '2000', '--invalid', '0.05'])
  const some = recordsOf(few.stdout).filter(isRefused)
  expect(some.length).toBeGreaterThan(60)
  expect(some.length).toBeLessThan(140)
})

it('says what is wrong with its arguments', async () => {
  for (const [args, fault] of [
    [['sold'], 'KIND must be page, screen, identify, track, alias, group or delete'],
    [['-n', '0'], '--count must be a whole number from 1 to 1000000000'],
    [['--invalid', '2'], '--invalid must be a share such as 0.3 or 30%, from 0 to 1'],
  ] as const) {
    const stderr = `headrace gen: ${fault}\n`
    expect(await headrace(['gen', ...args])).toEqual({ code: 2, stdout: '', stderr })
  }
})

it('ends when its reader has gone, and says when the output cannot be written', async () => {
  const gone = await headrace(['gen', '-n', '1000000'], { stdout: failing('EPIPE') })
  expect(gone).toMatchObject({ code: 0, stderr: '' })
  const full = await headrace(['gen', '-n', '1000000'], { stdout: failing('ENOSPC') })
  expect(full).toMatchObject({ code: 1, stderr: 'headrace gen: the output could not be written: ENOSPC\n' })
})

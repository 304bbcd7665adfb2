import { describe, expect, it } from 'vitest'
import { ask, open } from './kit.ts'

const MAX_BATCH = 512_000

const filled = (piece: string, prefix = '{"batch":[', suffix = ']}'): string => {
  const count = Math.floor((MAX_BATCH - prefix.length - suffix.length + 1) / (piece.length + 1))
  return prefix + Array.from({ length: count }, () => piece).join() + suffix
}

const PAGE = '{"type":"page","userId":"u"}'
const keys = (count: number, value: unknown): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value])))

describe("H1 a batch's own context and integrations", () => {
  it.each([
    ['context', keys(5_000, 1), 413, 'send fewer'],
    ['integrations', keys(12_000, true), 413, 'send fewer'],
    ['integrations', keys(3_000, true), 413, 'send fewer'],
    ['context', '{"d":{"__proto__":1}}', 400, "the batch's context.d.__proto__ is a key"],
    ['context', `{"d":${'['.repeat(300)}${']'.repeat(300)}}`, 400, 'nested deeper than 256'],
    ['context', `{"note":"${'x'.repeat(200)}"}`, 200, ''],
    ['context', '{"zero":-0}', 200, ''],
  ])('%s %.20s are answered %i', async (key, defaults, status, reason) => {
    const { collector, sink } = open()
    const answer = await ask(collector, '/v1/batch', filled(PAGE, `{"${key}":${defaults},"batch":[`))
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(reason)])
    expect(sink.items().length > 0).toBe(status === 200)
  })

  it('that are large are taken with few messages', async () => {
    const { collector, ids } = open()
    const body = `{"context":${keys(2_000, 1)},"batch":[${PAGE},${PAGE}]}`
    expect((await ask(collector, '/v1/batch', body)).status).toBe(200)
    expect(ids()).toHaveLength(2)
  })
})

it('H8 a fault in JSON is told for texts of at most 32,768 characters', async () => {
  const { collector } = open()
  const reasonOf = async (body: string): Promise<string> => (await ask(collector, '/v1/batch', body)).text()
  expect(await reasonOf('[]'.padEnd(32_768, ','))).toContain('not JSON at character 3')
  expect(await reasonOf('[]'.padEnd(32_769, ','))).toBe('{"ok":false,"reason":"the body is not JSON"}')
})

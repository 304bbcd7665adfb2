import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, recordsOf, scratch, track } from './command.ts'

const NOWHERE = 'http://127.0.0.1:9/'

const deep = (levels: number): string =>
  `{"type":"track","userId":"u","event":"e","properties":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`

const lines: ReadonlyArray<readonly [line: string, says: string]> = [
  ['oops', 'not JSON: expected a value at character 1'],
  ['{"type":"track"', 'not JSON: expected a comma or } at character 16'],
  ['{"type":"track",}', 'not JSON: expected a key in double quotes at character 17'],
  ["{'type':'track'}", 'not JSON: expected a key in double quotes or } at character 2'],
  ['{"a":1}{"b":2}', 'not JSON: expected nothing more at character 8'],
  ['NaN', 'not JSON: expected a value at character 1'],
  ['\u0000', 'not JSON: expected a value at character 1'],
  ['[]', 'must be an object'],
  ['null', 'must be an object'],
  ['"hunter2"', 'must be an object'],
  ['7', 'must be an object'],
  ['{}', 'type is missing'],
  ['{"type":"pige","userId":"u"}', 'type must be one of page, screen, identify, track, alias, group, delete'],
  ['{"type":"Track","userId":"u","event":"e"}', 'type must be one of page'],
  ['{"type":"toString","userId":"u"}', 'type must be one of page'],
  ['{"type":"track","event":"e"}', 'userId'],
  ['{"type":"track","userId":"","event":"e"}', 'userId'],
  ['{"type":"track","userId":7,"event":"e"}', 'userId must be a string, not a number'],
  ['{"type":"track","userId":"u"}', 'event'],
  ['{"type":"track","userId":"u","event":"e","properties":[]}', 'properties must be an object, not an array'],
  [
    '{"type":"track","userId":"u","event":"e","properties":"x"}',
    'properties must be an object, not a string',
  ],
  ['{"type":"page","userId":"u","properties":{"url":7}}', 'properties.url must be a string, not a number'],
  ['{"type":"alias","userId":"u"}', 'previousId'],
  ['{"type":"group","userId":"u"}', 'groupId'],
  ['{"type":"delete"}', 'userId'],
  ['{"type":"delete","anonymousId":"a"}', 'userId'],
  ['{"type":"identify","userId":"u","timestamp":1700000000}', 'timestamp'],
  ['{"type":"identify","userId":"u","timestamp":"2023-02-29T00:00:00Z"}', 'timestamp'],
  ['{"type":"identify","userId":"u","timestamp":"yesterday"}', 'timestamp'],
  ['{"type":"identify","userId":"u","integrations":{"All":"no"}}', 'integrations.All'],
  ['{"type":"identify","userId":"u","traits":{"__proto__":{"admin":true}}}', 'traits.__proto__ is a key'],
  ['{"__proto__":{"type":"delete","userId":"u"}}', '__proto__'],
  [deep(300), 'nested'],
  [`{"type":"identify","userId":"u","traits":{"a":"${'x'.repeat(64_000)}"}}`, 'the limit is 64000'],
  [`{"type":"identify","userId":"u","traits":{"a":"${'x'.repeat(1_100_000)}"}}`, 'longer than 1048576 bytes'],
]

describe('a bad line costs itself only, and says what would be right', () => {
  it('whatever is wrong with it', async () => {
    const receiver = await loopbackReceiver()
    onTestFinished(receiver.close)
    // A good one before, between and after: each bad line has an even number.
    const input = `${lines.map(([line], at) => `${track(`good ${at}`)}${line}\n`).join('')}${track('good last')}`
    const { code, stdout, stderr } = await headrace(['send', '--to', receiver.url, '--output', 'json'], {
      input,
    })
    expect(code).toBe(4)
    const refused = linesOf(stderr)
    expect(refused.length).toBe(lines.length)
    lines.forEach(([, says], at) => {
      const said = refused[at]
      expect(said).toMatch(new RegExp(`^refused {4}line ${2 * at + 2} `))
      expect(said).toContain(says)
      expect(said).not.toContain('hunter2')
    })
    expect(receiver.received.length).toBe(lines.length + 1)
    expect(recordsOf(stdout).at(-1)).toMatchObject({
      read: 2 * lines.length + 1,
      refused: lines.length,
      delivered: lines.length + 1,
    })
  })

  it('names every fault of a line at once', async () => {
    const { code, stderr } = await headrace(['send', '--to', NOWHERE], {
      input: '{"type":"group","userId":7,"groupId":"","timestamp":1,"traits":[]}\n',
    })
    for (const field of ['userId', 'groupId', 'timestamp', 'traits']) expect(stderr).toContain(field)
    // Nothing was accepted, so no receiver has failed: it is the input that is wrong.
    expect(code).toBe(4)
  })

  it('takes bytes that are no UTF-8, a byte order mark, and a file without a last line break', async () => {
    const receiver = await loopbackReceiver()
    onTestFinished(receiver.close)
    const file = `${scratch()}/events`
    const bad = Buffer.from(track('caf\u00e9'), 'latin1')
    const parts = [Buffer.from(`\ufeff${track('A').trimEnd()}\r\n`), bad, Buffer.from(track('B').trimEnd())]
    writeFileSync(file, Buffer.concat(parts))
    const { code, stderr } = await headrace(['send', file, '--to', receiver.url])
    expect(stderr).toContain('refused    line 2    not UTF-8: save the file in that encoding\n')
    expect(code).toBe(4)
    expect(receiver.received.length).toBe(2)
  })
})

// CPU time for each byte of the largest bodies that cost most: `node test/bench/cost.js [N]`. With N, each comes N times at once, too.
// A byte is one of the text, not one of those on the wire.
import { gzipSync } from 'node:zlib'
import { sink } from 'headrace'
import { createCollector } from 'headrace/collector'
import { cpuNow } from './measure.js'

const MAX = 512_000

/** A text of at most `MAX` bytes that holds a piece as often as it can. */
const filled = (piece, prefix = '{"batch":[', suffix = ']}') => {
  const count = Math.floor((MAX - prefix.length - suffix.length + 1) / (piece.length + 1))
  return prefix + Array.from({ length: count }, () => piece).join() + suffix
}
const page = (more = '') => `{"type":"page","userId":"u"${more}}`
const nested = (depth, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth)
const keys = (count, value) => Array.from({ length: count }, (_, n) => `"k${n}":${value}`).join()
const deepFaults = page(`,"context":{"d":${nested(253, `[${filled('[]', '', '').slice(0, 30_999)}0]`)}}`)
const proto = Array.from({ length: 400 }, () => '{"__proto__":1}').join()
const ids = (count) => `{"type":"page","userId":"u","messageId":"${'m'.repeat(count)}"}`

const bodies = {
  'plain events of 400 B': filled(page(`,"context":{"note":"${'x'.repeat(350)}"}`)),
  'shortest messages': filled(page()),
  'context of 5,000 keys': filled(page(), `{"context":{${keys(5_000, 1)}},"batch":[`),
  'integrations of 3,000 keys': filled(page(), `{"integrations":{${keys(3_000, true)}},"batch":[`),
  'context of 200 B, many messages': filled(page(), `{"context":{"note":"${'x'.repeat(200)}"},"batch":[`),
  'deep context': filled(page(), `{"context":{"d":${nested(300)}},"batch":[`),
  'not JSON: arrays': filled('[]', '['),
  'not JSON: one string': `["${'x'.repeat(MAX - 10)}`,
  'not JSON, 32 KB': filled('[]', '[').slice(0, 32_000),
  'messages 300 deep': filled(page(`,"context":{"d":${nested(300)}}`)),
  'messages 250 deep': filled(page(`,"context":{"d":${nested(250)}}`)),
  '__proto__ at depth 200': filled(page(`,"context":{"d":${nested(200, '{"__proto__":1}')}}`)),
  'many __proto__ at depth 250': filled(page(`,"context":{"d":${nested(250, proto)}}`)),
  'faults at depth 256': filled(deepFaults),
  'empty objects': filled(page(`,"context":{"d":[${filled('{}', '', '').slice(0, 30_999)}{}]}`)),
  'messages that are none': filled('1'),
  'empty messages': filled('{}'),
  'null members': filled('{"type":"page","userId":"u","a":null,"b":null,"context":null}'),
  'unknown keys': filled(page(`,${keys(3_000, 1)}`)),
  'integrations that are none': filled(page(`,"integrations":{${keys(3_000, 1)}}`)),
  'control characters': filled(page(`,"context":{"note":"${'\\u0000'.repeat(5_000)}"}`)),
  'ids that are too long': filled(ids(300)),
  numbers: filled(page(`,"context":{"n":[${filled('1e300', '', '').slice(0, 24_000)}1]}`)),
}

const Authorization = `Basic ${Buffer.from('wk:').toString('base64')}`
const headers = { Authorization, 'Content-Encoding': 'gzip' }

/** A collector whose events are delivered at once. */
const opened = () => {
  const settings = {
    sources: [{ id: 'web', writeKey: 'wk' }],
    destinations: [{ name: 'Own', sources: ['web'], sink: sink('Own', () => Promise.resolve()) }],
  }
  return createCollector(settings, { logger: false })
}

/** Posts a body that is compressed. Answers the status and the CPU time in µs. */
const post = async (collector, body) => {
  const before = cpuNow()
  const response = await collector.handle(new Request('http://x/v1/batch', { method: 'POST', body, headers }))
  await response.text()
  return { status: response.status, micros: cpuNow() - before }
}

/** The CPU time of each body by itself, the best of three, and the statuses when many of them come at once. */
const measured = async (name, text, atOnce) => {
  const zipped = gzipSync(text)
  const collector = opened()
  const alone = []
  for (let run = 0; run < 3; run++) {
    alone.push((await post(collector, zipped)).micros)
    await collector.idle()
  }
  const answers = await Promise.all(Array.from({ length: atOnce }, () => post(collector, zipped)))
  await collector.close({ timeout: 0 })
  const statuses = [...new Set(answers.map(({ status }) => status))].sort()
  const micros = Math.min(...alone)
  const perByte = micros / text.length
  return { name, bytes: text.length, wire: zipped.length, ms: micros / 1_000, perByte, statuses }
}

const atOnce = Number(process.argv[2] ?? 1)
const rows = []
for (const [name, text] of Object.entries(bodies)) rows.push(await measured(name, text, atOnce))
for (const { name, statuses, bytes, wire, ms, perByte } of rows.toSorted((a, b) => b.perByte - a.perByte)) {
  const sizes = `${String(bytes).padStart(7)} B ${String(wire).padStart(6)} B gzip`
  console.log(
    `${name.padEnd(34)} ${statuses.join().padEnd(7)} ${sizes} ${ms.toFixed(1).padStart(7)} ms ${perByte.toFixed(3)} µs a byte`,
  )
}

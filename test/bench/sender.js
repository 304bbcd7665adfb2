// Posts bodies in a process of its own: for each `{ port, requests }` it sends this many to `/v1/batch`, 16 at a time, and answers
// how many were not answered 200.
import { Pool } from 'undici'
import { calls } from './events.js'

const [size, count] = process.argv.slice(2)
const BATCHES = 16
const all = calls(size, Number(count) * BATCHES)
const bodies = Array.from({ length: BATCHES }, (_, at) => {
  const batch = all.slice(at * Number(count), (at + 1) * Number(count))
  return Buffer.from(JSON.stringify({ batch, sentAt: '2025-06-15T15:06:40.000Z' }))
})
const headers = {
  authorization: `Basic ${Buffer.from('wk:').toString('base64')}`,
  'content-type': 'application/json',
}
const pools = new Map()

process.on('message', async ({ port, requests }) => {
  const pool = pools.get(port) ?? new Pool(`http://127.0.0.1:${port}`, { connections: 16, pipelining: 1 })
  pools.set(port, pool)
  let sent = 0
  let wrong = 0
  const worker = async () => {
    while (sent < requests) {
      const body = bodies[sent++ % BATCHES]
      const answer = await pool.request({ path: '/v1/batch', method: 'POST', headers, body })
      await answer.body.dump()
      if (answer.statusCode !== 200) wrong++
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  process.send(wrong)
})
process.on('disconnect', () => process.exit())

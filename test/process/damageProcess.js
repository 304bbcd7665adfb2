// Damages copies of a stored outbox, and delivers what is left: `damageProcess.js TASK FOLDER [FROM TO]`. It tells what became of each.
import { mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../dist/index.js'
import { webhookDestination } from '../../dist/destination/index.js'
import { loopbackReceiver, seededRandom } from '../../dist/testing/index.js'

const [task, folder, from, to] = process.argv.slice(2)
const base = join(folder, 'base')

const open = (path, url, clock = systemClock) =>
  webhookDestination({ webhooks: [{ url }] }, { outbox: { path }, logger: false, clock })

const make = async () => {
  const random = seededRandom(7)
  const receiver = await loopbackReceiver(({ body }) => {
    const { n } = JSON.parse(body.toString()).properties
    return { do: 'status', code: n % 3 === 0 ? 200 : n % 17 === 0 ? 400 : 503 }
  })
  const destination = open(base, receiver.url)
  for (let n = 0; n < 600; n++) {
    await destination.send({
      type: 'track',
      userId: 'u1',
      event: 'e',
      messageId: `m${n}`,
      properties: { n, text: 'x'.repeat(Math.floor(random() ** 4 * 20_000)) },
    })
    if (n % 30 === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await destination.close({ timeout: 100 })
  await receiver.close()
}

const damages = (random) => {
  const below = (limit) => Math.floor(random() * limit)
  const flip = (bytes, at) => {
    bytes[at] ^= 1 << below(8)
    return bytes
  }
  const page = (bytes) => 4_096 * below(bytes.length / 4_096)
  return [
    (bytes) => flip(bytes, below(bytes.length)),
    (bytes) => flip(bytes, page(bytes) + below(120)),
    (bytes) => flip(bytes, page(bytes) + 4_095 - below(200)),
    (bytes) => flip(bytes, 4_096 * below(2) + below(170)),
    (bytes) => {
      for (let count = 0; count < 40; count++) bytes[below(bytes.length)] = below(256)
      return bytes
    },
    (bytes) => {
      const at = page(bytes)
      return bytes.fill(0, at, at + 4_096)
    },
    (bytes) => {
      const at = page(bytes)
      for (let next = at; next < at + 4_096; next++) bytes[next] = below(256)
      return bytes
    },
    (bytes) => {
      const source = page(bytes)
      bytes.copy(bytes, page(bytes), source, source + 4_096)
      return bytes
    },
    (bytes) => bytes.subarray(0, below(bytes.length)),
    (bytes) => bytes.fill(0, below(bytes.length)),
  ]
}

const LATE = {}
const inTime = (promise, limit) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve(LATE), limit))])

const judge = async (path, url) => {
  let destination
  try {
    destination = open(path, url, { ...systemClock, now: () => systemClock.now() + 60_000 })
  } catch (error) {
    return error.name === 'OutboxError' ? `refused ${error.reason}` : `threw ${String(error)}`
  }
  const idle = await inTime(destination.idle(), 30_000)
  const { delivered, rejected, waiting } = destination.stats()
  const closed = await inTime(destination.close({ timeout: 0 }), 30_000)
  const how = idle === LATE ? 'never idle' : closed === LATE ? 'never closed' : 'opened'
  return `${how} ${delivered + rejected} ended, ${waiting} wait`
}

/** Number 0 is not damaged. */
const damage = async () => {
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: 200 }))
  const whole = readFileSync(join(base, 'data.mdb'))
  for (let at = Number(from); at < Number(to); at++) {
    const kinds = damages(seededRandom(at + 1))
    const bytes = at === 0 ? whole : kinds[at % kinds.length](Buffer.from(whole))
    const path = join(folder, String(at))
    mkdirSync(path)
    writeFileSync(join(path, 'data.mdb'), bytes)
    writeSync(1, `${at} ${await judge(path, receiver.url)}\n`)
    rmSync(path, { recursive: true, force: true })
  }
  await receiver.close()
  process.exit(0)
}

await { make, damage }[task]()

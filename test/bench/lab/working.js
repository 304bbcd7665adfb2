// Experiments that work the machine: one at a time, with nothing beside them.
import { setImmediate as turn } from 'node:timers/promises'

const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`

/** Offers `count` events, `aTurn` of them in each turn of the loop; answers how many of them were refused at once. */
const offer = async (peer, count, aTurn) => {
  let refused = 0
  for (let at = 0; at < count; at++) {
    if (peer.track(`e-${at}`) !== undefined) refused++
    if (at % aTurn === aTurn - 1) await turn()
  }
  return refused
}

const hung = {
  id: 'hung',
  title: 'hung server, 50,000 events offered, 100 a turn of the loop: heap; open requests',
  server: () => () => undefined,
  alone: true,
  seconds: [90, 25],
  play: async ({ open, say, sleep }) => {
    const peer = await open()
    const refused = await offer(peer, 50_000, 100)
    say({ refused })
    await sleep(2_000)
    say({ heap: process.memoryUsage().heapUsed })
  },
  cell: ({ found, server, exit, seconds }) => {
    if (exit !== 0 && found.heap === undefined)
      return exit === null ? `not done in ${seconds} s` : `exit ${exit}`
    const refused = found.refused[0] === 0 ? '' : `; ${found.refused[0].toLocaleString('en')} refused at once`
    return `${megabytes(found.heap[0])}; ${server.mostOpen().toLocaleString('en')}${refused}`
  },
}

/** Until the process does next to nothing. */
const idle = async (sleep) => {
  for (let quiet = 0; quiet < 2;) {
    const { user, system } = process.cpuUsage()
    await sleep(400)
    const after = process.cpuUsage()
    quiet = after.user + after.system - user - system < 30_000 ? quiet + 1 : 0
  }
}

const healthy = {
  id: 'healthy',
  title: '10,000 events in one loop, healthy server, defaults: CPU; taken',
  server: () => () => ({ status: 200 }),
  alone: true,
  seconds: [60, 25],
  play: async ({ open, say, sleep }) => {
    const peer = await open()
    const before = process.cpuUsage()
    const refused = await offer(peer, 10_000, 10_000)
    await Promise.resolve(peer.flush()).catch(() => undefined)
    await idle(sleep)
    const { user, system } = process.cpuUsage(before)
    say({ cpu: (user + system) / 1e6, refused })
  },
  cell: ({ found, server, exit, seconds }) => {
    if (found.cpu === undefined) return exit === null ? `not done in ${seconds} s` : `exit ${exit}`
    const refused = found.refused[0] === 0 ? '' : `, ${found.refused[0].toLocaleString('en')} refused at once`
    return `${found.cpu[0].toFixed(2)} s; ${server.taken().size.toLocaleString('en')}${refused}`
  },
}

export const working = [hung, healthy]

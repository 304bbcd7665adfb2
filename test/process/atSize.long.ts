/** The lmdb outbox at size: a receiver that is down while very many events wait, and kills. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { diskFolder } from '../support/folder.ts'
import { listen } from '../support/http.ts'
import { sized } from '../support/runs.ts'

const EVENTS = Number(process.env['EVENTS'] ?? sized({ short: 2_000, full: 5_000, long: 1_000_000 }))

interface Posted {
  readonly messageId: string
  readonly properties: { readonly n: number }
}

it(
  `${String(EVENTS)} events wait for a receiver that is down; two kills lose none`,
  { timeout: 10_800_000 },
  async () => {
    const path = diskFolder()
    const tried = new Uint8Array(EVENTS)
    const taken = new Uint8Array(EVENTS)
    const counts = { tried: 0, taken: 0, again: 0 }
    let isHealthy = false
    let changed = (): void => undefined
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        // Only the destination posts here.
        const { messageId, properties } = JSON.parse(Buffer.concat(chunks).toString()) as Posted
        const { n } = properties
        if (messageId !== `m${String(n)}`) throw new Error(`${messageId} was changed`)
        if (tried[n] === 0) counts.tried++
        tried[n] = 1
        if (isHealthy && taken[n] === 0) counts.taken++
        else if (isHealthy) counts.again++
        if (isHealthy) taken[n] = 1
        response.writeHead(isHealthy ? 200 : 503).end()
        changed()
      })
    })
    const { port, close } = await listen(server)
    onTestFinished(close)
    const until = (isSo: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        changed = () => {
          if (isSo()) resolve()
        }
        changed()
      })
    const url = `http://127.0.0.1:${String(port)}/`
    const maxDelay = sized({ short: 1_000, full: 1_000, long: 30_000 })
    const start = () => {
      const script = fileURLToPath(new URL('outageProcess.js', import.meta.url))
      const child = fork(script, [path, url, String(maxDelay)], { execArgv: [] })
      onTestFinished(() => {
        child.kill('SIGKILL')
      })
      return {
        ask: async (task: string, count?: number): Promise<unknown> => {
          const answered = once(child, 'message')
          child.send({ do: task, count })
          // What the process sends.
          const [{ answer, peak }] = (await answered) as [{ answer: unknown; peak: number }]
          console.log(`${task}: ${JSON.stringify(answer)}, peak ${String(Math.round(peak / 1_024))} MiB`)
          return answer
        },
        kill: async () => {
          child.kill('SIGKILL')
          await once(child, 'exit')
        },
      }
    }
    const down = start()
    await down.ask('opening')
    await down.ask('send', EVENTS)
    await until(() => counts.tried >= EVENTS / 2)
    expect(await down.ask('stats')).toMatchObject({ accepted: EVENTS, waiting: EVENTS })
    await down.kill()
    isHealthy = true
    const healed = start()
    await healed.ask('opening')
    await until(() => counts.taken >= EVENTS / 2)
    await healed.kill()
    const last = start()
    expect(await last.ask('idle')).toMatchObject({ expired: 0, rejected: 0, waiting: 0 })
    expect(await last.ask('stats')).toMatchObject({ waiting: 0, bytes: 0 })
    await last.ask('close')
    expect(counts.taken).toBe(EVENTS)
    // In flight at the kill, and ended but not stored.
    expect(counts.again).toBeLessThanOrEqual(1_016)
  },
)

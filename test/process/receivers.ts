/** Receivers that are not ours: they know nothing of headrace but the shape of a request. */
import { spawn } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { onTestFinished } from 'vitest'
import { served } from '../cli/inProcess.ts'
import { freePort } from '../support/servers.js'

/** Express 5 with its JSON parser before it: it hashes the parsed body written anew, as the source describes. `found`: by type. */
export const expressReceiver = async (secret: string) => {
  const found = { requests: 0, verified: 0, types: {} as Record<string, number> }
  const app = express()
  app.use(express.json({ limit: '1mb' }))
  app.post('/hook', (request, response) => {
    const body = request.body as { readonly type: string }
    const expected = createHmac('sha1', secret).update(JSON.stringify(body)).digest('hex')
    const given = request.get('X-Signature') ?? ''
    const right = given.length === 40 && timingSafeEqual(Buffer.from(expected), Buffer.from(given))
    found.requests++
    found.verified += right ? 1 : 0
    found.types[body.type] = (found.types[body.type] ?? 0) + 1
    response.sendStatus(right ? 200 : 401)
  })
  return { url: `${await served(app)}hook`, found }
}

/** The URL of a program in docs/receivers, which verifies with the secret: its command gets a port. */
export const documentedReceiver = async (
  secret: string,
  commandOf: (port: string) => ReadonlyArray<string>,
): Promise<string> => {
  const port = String(await freePort())
  const [program = '', ...args] = commandOf(port)
  // A session of its own: `go run` starts another process.
  const child = spawn(program, args, {
    cwd: fileURLToPath(new URL('../../docs/receivers/', import.meta.url)),
    env: { ...process.env, SECRET: secret, PORT: port },
    detached: true,
  })
  onTestFinished(() => void process.kill(-(child.pid ?? 0), 'SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await new Promise<void>((resolve, reject) => {
    let said = ''
    const read = (chunk: Buffer): void => {
      said += chunk.toString()
      if (said.includes(url)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('close', () => reject(new Error(`${program} ended, after: ${said}`)))
  })
  return `${url}/hook`
}

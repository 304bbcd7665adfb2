/** Receivers that are not ours: they know nothing of headrace but the shape of a request. */
import { spawn } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { onTestFinished } from 'vitest'

/** What a receiver found. */
export interface Found {
  readonly requests: number
  readonly verified: number
  /** How many of each type. */
  readonly types: Readonly<Record<string, number>>
}

/** A receiver that counts. */
export interface CountingReceiver {
  readonly url: string
  readonly found: () => Promise<Found>
}

/** Express 5 with its JSON parser before it: it hashes the parsed body written anew, as the source describes. */
export const expressReceiver = async (secret: string): Promise<CountingReceiver> => {
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
  const server = await new Promise<Server>((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    found: () => Promise.resolve(found),
  }
}

/** Python's http.server: it hashes the raw bytes. */
export const pythonReceiver = async (secret: string): Promise<CountingReceiver> => {
  const script = fileURLToPath(new URL('receiver.py', import.meta.url))
  const child = spawn('python3', [script], { env: { ...process.env, SECRET: secret } })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let text = ''
  const said = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(text)?.[1]
        if (match !== undefined) resolve(match)
      }
      child.stdout.on('data', look)
      child.once('close', () => reject(new Error(`python3 ended, after: ${text}`)))
      look()
    })
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const port = await said(/^port (\d+)\n/)
  return {
    url: `http://127.0.0.1:${port}/hook`,
    found: async () => {
      child.stdin.end()
      return JSON.parse(await said(/^(\{.*\})\n/m)) as Found
    },
  }
}

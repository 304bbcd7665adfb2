import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock, systemRandom } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { verifyRaw } from '../signing/verify.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { ListenOptions } from './flags.ts'
import { argumentOf, port } from './options.ts'
import { serve } from './server.ts'
import { plain, toJson, whyNot } from './report.ts'
import { FAULT, FINE, aborted, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

const VERDICTS = {
  authentic: ['green', 'authentic'],
  notAuthentic: ['red', 'not authentic'],
  notChecked: ['yellow', 'not checked'],
} as const

/** Whether a request was signed with the secret: over the bytes as they arrived. If not, `why` says what to do. */
const judge = (
  secret: ListenOptions['secret'],
  body: Buffer,
  signature: unknown,
): { readonly verdict: keyof typeof VERDICTS; readonly why?: string } => {
  if (secret !== undefined) {
    const result = verifyRaw(secret, body, typeof signature === 'string' ? signature : undefined)
    if (result._tag === 'Right') return { verdict: 'authentic' }
    return { verdict: 'notAuthentic', why: result.left.explanation }
  }
  const isSigned = signature !== undefined
  const remedy = 'it is signed, and no secret was given: give --secret-env to verify it'
  return { verdict: 'notChecked', why: isSigned ? remedy : 'it is not signed' }
}

/** Longer than any webhook body of headrace; other senders may post here, too. */
const MAX_BODY = 1_048_576

/** Undefined for a longer body, which is read to its end so that the sender reads the answer. */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  // Chunks are bytes: no encoding was set.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= MAX_BODY) chunks.push(chunk)
  }
  return size <= MAX_BODY ? Buffer.concat(chunks) : undefined
}

/** The type and the message id in a body, if there are any. */
const eventIn = (body: Buffer): { readonly type?: string; readonly id?: string } => {
  try {
    const value: unknown = JSON.parse(body.toString())
    const { type, messageId: id } = isRecord(value) ? value : {}
    return { ...(typeof type === 'string' && { type }), ...(typeof id === 'string' && { id }) }
  } catch {
    return {}
  }
}

/** A body as one line of NDJSON; a body that is no JSON of one line becomes a JSON string. */
const lineOfBody = (body: Buffer): string => {
  const text = body.toString()
  return /^[{[][^\r\n]*$/.test(text) ? text : JSON.stringify(text)
}

/** `headrace listen`: receives webhooks on 127.0.0.1, verifies and prints them, and fails on purpose. */
export const listenCommand = async (
  { secret, respond, fail, delay, once, output, out: path }: ListenOptions,
  { out, err, host }: Terminal,
  portText: string,
): Promise<number> => {
  const file = path === undefined ? undefined : lineFile(path)
  const counts = { requests: 0, authentic: 0, notAuthentic: 0, notChecked: 0 }
  const ended = new AbortController()
  let answered = 0
  let hasFailed = false

  const keep = (body: Buffer): void =>
    file?.write(lineOfBody(body), (error) => {
      if (!(error instanceof Error) || hasFailed) return
      hasFailed = true
      err.line(`headrace listen: --out could not be written: ${whyNot(error)}`)
    })

  const take = (path: string, body: Buffer, signature: unknown): number => {
    const { verdict, why } = judge(secret, body, signature)
    const isForged = verdict === 'notAuthentic'
    const status = systemRandom() < fail ? 503 : isForged ? 401 : respond
    counts.requests++
    counts[verdict]++
    const [colour, words] = VERDICTS[verdict]
    const { type, id } = eventIn(body)
    const bytes = body.length
    if (output === 'json')
      out.line(
        toJson({ t: 'request', n: counts.requests, path, type, id, bytes, verdict: words, why, status }),
      )
    if (output === 'lines') {
      const event = `${plain(type ?? '-')} ${plain(id ?? '-')}`
      const how = `${String(bytes)} bytes  answered ${String(status)}${isForged ? `  ${String(why)}` : ''}`
      out.line(`${out.paint(colour, words.padEnd(13))} POST ${plain(path)}  ${event}  ${how}`)
    }
    if (status < 300 && !isForged) keep(body)
    return status
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request)
    // A query may hold a credential.
    const [path = '/'] = (request.url ?? '/').split('?')
    if (request.method !== 'POST') response.writeHead(405, { Allow: 'POST' }).end()
    else if (body === undefined) response.writeHead(413).end()
    else {
      const status = take(path, body, request.headers['x-signature'])
      const cancel = systemClock.schedule(delay, () => response.writeHead(status).end())
      response.once('close', () => {
        cancel()
        if (++answered === once) ended.abort()
      })
    }
  }

  const server = await serve('127.0.0.1', argumentOf('PORT', portText, port), (request, response) => {
    // A request that breaks off was never received.
    answer(request, response).catch(() => undefined)
  })
  const stop = stopSignals(host)
  const end = AbortSignal.any([stop.gently, out.gone, ended.signal])
  const url = `${server.origin}/`
  out.line(output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  await aborted(end)
  server.close()
  await new Promise<void>((resolve) => (file === undefined ? resolve() : file.end(resolve)))
  stop.release()
  const { requests, authentic, notAuthentic, notChecked } = counts
  const checked = `authentic ${String(authentic)} · not authentic ${String(notAuthentic)}`
  if (output === 'json') out.line(toJson({ t: 'summary', ...counts }))
  else err.line(`headrace: requests ${String(requests)} · ${checked} · not checked ${String(notChecked)}`)
  return once !== undefined && (notAuthentic > 0 || requests < once) ? FAULT : FINE
}

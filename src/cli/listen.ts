import type { IncomingMessage, ServerResponse } from 'node:http'
import { byteBuffer } from '../core/byteBuffer.ts'
import { systemClock, systemRandom } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { verifyRaw } from '../signing/verify.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { OptionsOf } from './flags.ts'
import { toJson, whyNot } from './report.ts'
import { serve } from './server.ts'
import { FAULT, FINE, aborted, plain, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Whether a request was signed with the secret: over the bytes as they arrived. If not, `why` says what to do. */
const judge = (secret: OptionsOf<'listen'>['secret'], body: Buffer, signature: unknown) => {
  if (secret === undefined) {
    const remedy = 'it is signed, and no secret was given: give --secret-env to verify it'
    const why = signature === undefined ? 'it is not signed' : remedy
    return { key: 'notChecked', verdict: 'not checked', colour: 'yellow', why } as const
  }
  const result = verifyRaw(secret, body, typeof signature === 'string' ? signature : undefined)
  return result._tag === 'Right'
    ? ({ key: 'authentic', verdict: 'authentic', colour: 'green', why: undefined } as const)
    : ({
        key: 'notAuthentic',
        verdict: 'not authentic',
        colour: 'red',
        why: result.left.explanation,
      } as const)
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

/** A webhook has at most 64,000 bytes. */
const MAX_BODY = 1_048_576

/** The body; undefined if it is longer than `MAX_BODY`: the rest is dropped. */
const bodyOf = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const body = byteBuffer()
  // Without an encoding a request gives buffers.
  const chunks: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false })
  for await (const chunk of chunks) {
    body.add(chunk)
    if (body.size() <= MAX_BODY) continue
    request.resume()
    return undefined
  }
  return body.bytes()
}

/** `headrace listen`: receives webhooks on 127.0.0.1, verifies and prints them, and fails on purpose. */
export const listenCommand = async (
  { secret, respond, fail, delay, once, output, out: path }: OptionsOf<'listen'>,
  { out, err, host }: Terminal,
  portText: string,
): Promise<number> => {
  const file = path === undefined ? undefined : lineFile(path)
  const counts = { requests: 0, authentic: 0, notAuthentic: 0, notChecked: 0 }
  const ended = new AbortController()
  let answered = 0

  const keep = (body: Buffer): void =>
    file?.write(lineOfBody(body), (error) => {
      if (error instanceof Error) err.line(`headrace listen: --out could not be written: ${whyNot(error)}`)
    })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      response.writeHead(405, { Allow: 'POST' }).end()
      return
    }
    const body = await bodyOf(request)
    if (body === undefined) {
      err.line(`headrace listen: a body of more than ${String(MAX_BODY)} bytes was answered with 413`)
      response.writeHead(413, { Connection: 'close' }).end()
      return
    }
    // A query may hold a credential.
    const [path = '/'] = (request.url ?? '/').split('?')
    const { key, verdict, colour, why } = judge(secret, body, request.headers['x-signature'])
    const isForged = key === 'notAuthentic'
    const status = systemRandom() < fail ? 503 : isForged ? 401 : respond
    counts.requests++
    counts[key]++
    const { type, id } = eventIn(body)
    const bytes = body.length
    if (output === 'json')
      out.line(toJson({ t: 'request', n: counts.requests, path, type, id, bytes, verdict, why, status }))
    if (output === 'lines') {
      const event = `${plain(type ?? '-')} ${plain(id ?? '-')}`
      const how = `${String(bytes)} bytes  answered ${String(status)}${isForged ? `  ${why}` : ''}`
      out.line(`${out.paint(colour, verdict.padEnd(13))} POST ${plain(path)}  ${event}  ${how}`)
    }
    if (status < 300 && !isForged) keep(body)
    const cancel = systemClock.schedule(delay, () => response.writeHead(status).end())
    response.once('close', () => {
      cancel()
      if (++answered === once) ended.abort()
    })
  }

  const { server, origin } = await serve('127.0.0.1', portText, (request, response) => {
    // A request that breaks off was never received.
    answer(request, response).catch(() => undefined)
  })
  const url = `${origin}/`
  out.line(output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  await aborted(AbortSignal.any([stopSignals(host).gently, out.gone, ended.signal]))
  server.close()
  server.closeAllConnections()
  await new Promise<void>((resolve) => (file === undefined ? resolve() : file.end(resolve)))
  const { requests, authentic, notAuthentic, notChecked } = counts
  const checked = `authentic ${String(authentic)} · not authentic ${String(notAuthentic)}`
  if (output === 'json') out.line(toJson({ t: 'summary', ...counts }))
  else err.line(`headrace: requests ${String(requests)} · ${checked} · not checked ${String(notChecked)}`)
  return once !== undefined && (notAuthentic > 0 || requests < once) ? FAULT : FINE
}

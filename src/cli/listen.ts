import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLeft } from 'fp-ts/lib/Either.js'
import { valueOr } from '../core/failure.ts'
import { systemClock, systemRandom } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { readRequest } from '../signing/request.ts'
import { verifyRaw } from '../signing/verify.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { OptionsOf } from './flags.ts'
import { toJson, whyNot } from './report.ts'
import { serve } from './server.ts'
import { FAULT, FINE, aborted, plain, stopSignals, type Terminal } from './terminal.ts'

/** Whether the bytes of a request were signed with the secret. If not, `why` says how to mend it. */
const judge = (secret: OptionsOf<'listen'>['secret'], body: Uint8Array, signature: unknown) => {
  if (secret === undefined) {
    const remedy = 'it is signed, and no secret was given: give --secret-env to verify it'
    return { verdict: 'not checked', why: signature === undefined ? 'it is not signed' : remedy } as const
  }
  const result = verifyRaw(secret, body, signature)
  if (result._tag === 'Right') return { verdict: 'authentic', why: undefined } as const
  return { verdict: 'not authentic', why: result.left.explanation } as const
}

const CHECK_COLOURS = { authentic: 'green', 'not authentic': 'red', 'not checked': 'yellow' } as const

const idsIn = (body: Buffer): { readonly type?: string; readonly id?: string } => {
  const value = valueOr<unknown, undefined>(undefined, () => JSON.parse(body.toString()))
  const { type, messageId: id } = isRecord(value) ? value : {}
  return { ...(typeof type === 'string' && { type }), ...(typeof id === 'string' && { id }) }
}

/** A body as one line of NDJSON; a body that is no JSON of one line becomes a JSON string. */
const lineOfBody = (body: Buffer): string => {
  const text = body.toString()
  return /^[{[][^\r\n]*$/.test(text) ? text : JSON.stringify(text)
}

/** A webhook has at most 64,000 bytes. */
const MAX_REQUEST = 1_048_576

/** `headrace listen`: receives webhooks on 127.0.0.1, verifies and prints them, and fails on purpose. */
export const listenCommand = async (
  { secret, respond, fail, delay, once, output, out: path }: OptionsOf<'listen'>,
  { out, err, host }: Terminal,
  portText: string,
): Promise<number> => {
  const file = path === undefined ? undefined : lineFile(path)
  const counts = { authentic: 0, 'not authentic': 0, 'not checked': 0 }
  let requests = 0
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
    const read = await readRequest(request, MAX_REQUEST)
    if (isLeft(read)) {
      err.line(`headrace listen: a body of more than ${String(MAX_REQUEST)} bytes was answered with 413`)
      response.writeHead(413, { Connection: 'close' }).end()
      return
    }
    // A query may hold a credential.
    const [path = '/'] = (request.url ?? '/').split('?')
    const body = Buffer.from(read.right)
    const { verdict, why } = judge(secret, body, request.headers['x-signature'])
    const isForged = verdict === 'not authentic'
    const taken = isForged ? 401 : respond
    const status = systemRandom() < fail ? 503 : taken
    requests++
    counts[verdict]++
    const { type, id } = idsIn(body)
    const bytes = body.length
    if (output === 'json')
      out.line(toJson({ t: 'request', n: requests, path, type, id, bytes, verdict, why, status }))
    if (output === 'lines') {
      const event = `${plain(type ?? '-')} ${plain(id ?? '-')}`
      const how = `${String(bytes)} bytes  answered ${String(status)}${isForged ? `  ${why}` : ''}`
      out.line(
        `${out.paint(CHECK_COLOURS[verdict], verdict.padEnd(13))} POST ${plain(path)}  ${event}  ${how}`,
      )
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
  const { authentic, 'not authentic': notAuthentic, 'not checked': notChecked } = counts
  const checked = `authentic ${String(authentic)} · not authentic ${String(notAuthentic)}`
  if (output === 'json') out.line(toJson({ t: 'summary', requests, authentic, notAuthentic, notChecked }))
  else err.line(`headrace: requests ${String(requests)} · ${checked} · not checked ${String(notChecked)}`)
  return once !== undefined && (notAuthentic > 0 || requests < once) ? FAULT : FINE
}

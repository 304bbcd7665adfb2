import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import { Subject } from 'rxjs'
import { constVoid, isLeft, left, right, valueOr } from '../core/either.ts'
import { refused } from '../core/failure.ts'
import { inTime, systemClock, systemRandom } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { delivered, rejected } from '../core/outcome.ts'
import type { LogEvent } from '../log/logEvent.ts'
import { readRequest } from '../signing/request.ts'
import { verifyRaw } from '../signing/verify.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { OptionsOf } from './flags.ts'
import { drawLive, outputOf } from './live.ts'
import { assertWritable } from './input.ts'
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

const STYLE_OF = { authentic: 'green', 'not authentic': 'red', 'not checked': 'yellow' } as const

const idsIn = (body: Buffer): { readonly type?: string; readonly id?: string } => {
  const value = valueOr<unknown, undefined>(undefined, () => JSON.parse(body.toString()))
  const { type, messageId: id } = isRecord(value) ? value : {}
  return { ...(typeof type === 'string' && { type }), ...(typeof id === 'string' && { id }) }
}

/** A body as one line of NDJSON; a body that is no JSON of one line becomes a JSON string. */
const lineOfBody = (body: Buffer): string => {
  const text = body.toString()
  const isLine = /^[{[][^\r\n]*$/.test(text) && valueOr(false, () => Boolean(JSON.parse(text)))
  return isLine ? text : JSON.stringify(text)
}

/** Of one connection, or counted anew by the request that passes a body on. */
const NOT_KEPT = /^(host|connection|content-length|transfer-encoding|keep-alive|expect|upgrade|te|trailer)$/
const PASS_TIMEOUT = 30_000

/** Posts a body on as it came. Answers the status. */
const pass = (url: URL, { headers }: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<number> => {
  const kept = Object.entries(headers).filter(([name]) => !NOT_KEPT.test(name))
  const given = { ...Object.fromEntries(kept), 'Content-Length': body.length }
  // Not `fetch`, which refuses an answer after an unasked `100 Continue`.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  // A signal for each: the one of the stop would have a listener for each request.
  const cut = new AbortController()
  const how = { method: 'POST', headers: given, agent: false, signal: AbortSignal.any([signal, cut.signal]) }
  const post = () =>
    new Promise<number>((resolve, reject) => {
      const sent = request(url, how, (answer) => resolve(answer.destroy().statusCode ?? 502))
      sent.on('error', reject).end(body)
    })
  return inTime(systemClock, PASS_TIMEOUT, post).finally(() => cut.abort())
}

const LAST_REQUESTS = 5
/** A webhook has at most 64,000 bytes. */
const MAX_REQUEST = 1_048_576

/** `headrace listen`: receives webhooks on 127.0.0.1, verifies and prints them, and fails on purpose. */
export const listenCommand = async (options: OptionsOf<'listen'>, terminal: Terminal, portText: string) => {
  const { secret, respond, fail, delay, once, bodies, forwardTo, out: path } = options
  const { out, err, host } = terminal
  const output = outputOf(options.output, terminal)
  if (path !== undefined) assertWritable('--out', path)
  const file = path === undefined ? undefined : lineFile(path)
  const counts = { authentic: 0, 'not authentic': 0, 'not checked': 0 }
  let requests = 0
  const ended = new AbortController()
  // With another place for requests it goes on without a reader of stdout.
  const unread = path === undefined && forwardTo === undefined ? [out.gone] : []
  const stop = AbortSignal.any([stopSignals(host).gently, ...unread, ended.signal])
  let answered = 0
  let taken = 0
  const last: string[] = []
  const events = new Subject<LogEvent>()
  /** For the view, where a request is an event. */
  const tell = (startedAt: number, path: string, status: number, detail: string): void => {
    const sink = `${origin}${path}`
    const told = { at: systemClock.now(), from: 'listen' }
    const attempt = { ...told, startedAt, item: {}, sink, number: 1, duration: told.at - startedAt }
    const receipt = { sink, status }
    const failure = refused('status', { status, ...(detail !== '' && { detail }) })
    const isTaken = status < 300
    if (isTaken) taken++
    events.next({ ...attempt, _tag: 'Attempted', result: isTaken ? right(receipt) : left(failure) })
    const outcome = isTaken ? delivered({}, 1, receipt) : rejected({}, 1, failure)
    events.next({ ...told, _tag: 'Ended', outcome })
  }

  /** Answers whether the line is written. One that cannot be ends the command before its answer. */
  const keep = (body: Buffer): Promise<boolean> =>
    new Promise((resolve) => {
      if (file === undefined) return resolve(true)
      file.write(lineOfBody(body), (error) => {
        if (error instanceof Error && !ended.signal.aborted)
          err.line(`headrace listen: --out could not be written: ${whyNot(error)}`)
        if (error instanceof Error) ended.abort(FAULT)
        resolve(!(error instanceof Error))
      })
    })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return void response.writeHead(405, { Allow: 'POST' }).end()
    // A page in a browser of this machine may post here, but not to the service behind.
    if (forwardTo && request.headers.origin !== undefined) return void response.writeHead(403).end()
    const read = await readRequest(request, MAX_REQUEST)
    if (isLeft(read)) {
      err.line(`headrace listen: a body of more than ${String(MAX_REQUEST)} bytes was answered with 413`)
      return void response.writeHead(413, { Connection: 'close' }).end()
    }
    // A query may hold a credential.
    const [path = '/'] = (request.url ?? '/').split('?')
    const body = Buffer.from(read.right)
    const { verdict, why } = judge(secret, body, request.headers['x-signature'])
    const isForged = verdict === 'not authentic'
    const startedAt = systemClock.now()
    const taken = systemRandom() < fail ? 503 : isForged ? 401 : undefined
    const unreached = (error: unknown): number => {
      if (!stop.aborted) err.line(`headrace listen: --forward-to could not be reached: ${whyNot(error)}`)
      return 502
    }
    const passed = forwardTo && taken === undefined ? pass(forwardTo, request, body, stop) : undefined
    const status = taken ?? (passed ? await passed.catch(unreached) : respond)
    if (stop.aborted) return
    const n = ++requests
    counts[verdict]++
    const { type, id } = idsIn(body)
    const kind = plain(type ?? '-')
    const name = plain(id ?? '-')
    const bytes = body.length
    const print = (): void => {
      const text = bodies ? { body: body.toString() } : {}
      if (output === 'json')
        out.line(toJson({ t: 'request', n, path, type, id, bytes, verdict, why, status, ...text }))
      if (output === 'lines') {
        const how = `${String(bytes)} bytes  answered ${String(status)}${isForged ? `  ${why}` : ''}`
        const word = out.paint(STYLE_OF[verdict], verdict.padEnd(13))
        out.line(`${word} POST ${plain(path)}  ${kind} ${name}  ${how}`)
      }
      if (bodies && (output === 'lines' || output === 'live')) out.line(plain(lineOfBody(body), Infinity))
    }
    // With a file it may be that there is no answer.
    if (file === undefined) print()
    const reply = async (): Promise<void> => {
      if (status < 300 && !isForged && !(await keep(body))) return
      if (file !== undefined) print()
      response.writeHead(status).end()
      const how = `answered ${String(status)}${verdict === 'not checked' ? '' : `, ${verdict}`}`
      if (last.unshift(`${kind.padEnd(8)} ${name}  ${how}`) > LAST_REQUESTS) last.pop()
      tell(startedAt, path, status, isForged ? why : '')
    }
    const cancel = systemClock.schedule(delay, () => void reply())
    // The sender may have gone while the request was passed on.
    finished(response, () => {
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
  const stats = () => {
    const rest = { rejected: answered - taken, waiting: requests - answered }
    return { ...rest, expired: 0, dropped: 0, abandoned: 0, refused: 0, accepted: requests, delivered: taken }
  }
  const erase =
    output === 'live' ? drawLive(terminal, [{ events$: events, stats }], { requests: last }) : constVoid
  await aborted(stop)
  erase()
  server.close()
  server.closeAllConnections()
  await new Promise<void>((resolve) => (file === undefined ? resolve() : file.end(resolve)))
  const { authentic, 'not authentic': notAuthentic, 'not checked': notChecked } = counts
  const checked = `authentic ${String(authentic)} · not authentic ${String(notAuthentic)}`
  if (output === 'json' && !out.gone.aborted)
    out.line(toJson({ t: 'summary', requests, authentic, notAuthentic, notChecked }))
  else err.line(`headrace: requests ${String(requests)} · ${checked} · not checked ${String(notChecked)}`)
  const isMissed = once !== undefined && (notAuthentic > 0 || requests < once)
  return isMissed || ended.signal.reason === FAULT ? FAULT : FINE
}

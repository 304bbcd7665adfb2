/**
 * What `listen` was told, read into values.
 *
 * @module
 */

import * as Tally from './listenCounters.ts'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock, systemRandom } from '../core/clock.ts'
import type { Secret } from '../signing/secret.ts'
import { verifyRaw } from '../signing/verify.ts'
import { lineFile } from '../sink/ndjson.ts'
import { plain, toJson, whyNot } from './report.ts'
import { FAULT, FINE, USAGE, stopSignals } from './terminal.ts'
import type { Style, Terminal } from './terminal.ts'
import {
  OUTPUTS,
  all,
  ifGiven,
  parseChoice,
  parseCount,
  parseDuration,
  parseRate,
  readSecret,
} from './values.ts'
import type { Output, Checked } from './values.ts'

/** Flags as commander hands them over. */
export interface ListenFlags {
  readonly secretEnv?: string
  readonly respond: string
  readonly fail: string
  readonly delay: string
  readonly out?: string
  readonly once?: string
  readonly output: string
}

/** What `listen` works with. */
export interface ListenOptions {
  readonly port: number
  readonly secret: Secret | undefined
  /** The status of an answer. */
  readonly respond: number
  /** The share of requests that are answered 503. */
  readonly fail: number
  /** Milliseconds before an answer. */
  readonly delay: number
  readonly out: string | undefined
  readonly once: number | undefined
  readonly output: Output
}

/** Reads the arguments of `listen`; everything that is wrong is told at once. */
export const listenOptions = (
  port: string,
  flags: ListenFlags,
  env: Readonly<Record<string, string | undefined>>,
): Checked<ListenOptions> =>
  all({
    port: parseCount('PORT', port, 0, 65_535),
    secret: ifGiven(flags.secretEnv, (name) => readSecret('--secret-env', name, env)),
    respond: parseCount('--respond', flags.respond, 200, 599),
    fail: parseRate('--fail', flags.fail),
    delay: parseDuration('--delay', flags.delay, 0),
    out: ifGiven(flags.out, (path) => ({ _tag: 'Right', right: path })),
    once: ifGiven(flags.once, (count) => parseCount('--once', count, 1, 1_000_000_000)),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })

/** What can be said about the event in a body. */
export interface EventGlimpse {
  readonly type?: string
  readonly id?: string
}

const text = (value: unknown): value is string => typeof value === 'string'

/** The type and the message id in a body, if it is an event at all. */
export const eventOf = (body: Uint8Array): EventGlimpse => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null) return {}
    return {
      ...('type' in parsed && text(parsed.type) ? { type: parsed.type } : {}),
      ...('messageId' in parsed && text(parsed.messageId) ? { id: parsed.messageId } : {}),
    }
  } catch {
    return {}
  }
}

/** Whether a request is from somebody who knows the secret. */
export interface Judgement {
  readonly verdict: 'authentic' | 'not authentic' | 'not checked'
  /** What happened and what to do, unless it is authentic. */
  readonly why?: string
}

/** Judges a request by its signature, over the bytes as they arrived. Without a secret nothing can be said. */
export const judge = (secret: Secret | undefined, { body, signature }: Omit<Arrived, 'path'>): Judgement => {
  if (secret === undefined)
    return {
      verdict: 'not checked',
      why:
        signature === undefined
          ? 'it is not signed'
          : 'it is signed, and no secret was given: give --secret-env to verify',
    }
  const result = verifyRaw(secret, body, signature)
  return result._tag === 'Right'
    ? { verdict: 'authentic' }
    : { verdict: 'not authentic', why: result.left.explanation }
}

/** A request that has come whole. */
export interface Arrived {
  /** Without the query, which may hold a credential. */
  readonly path: string
  /** What stands in `X-Signature`. */
  readonly signature: string | string[] | undefined
  readonly body: Buffer
}

/** What a receiver does: it answers after a while, or not at all. */
export interface Answer {
  readonly status: number | 'silence'
  /** Milliseconds. */
  readonly after: number
  /** Is called when the answer is out, or the sender has gone. */
  readonly then?: () => void
}

/** A receiver that listens. */
export interface OpenReceiver {
  /** `http://127.0.0.1:PORT/` */
  readonly url: string
  /** Cuts every connection and listens no more. */
  readonly close: () => Promise<void>
}

/** A webhook body has 64,000 bytes at most (BY2); this is for other senders. */
const LONGEST_BODY = 1_048_576

/** The whole body, or undefined if it is too long. */
const bodyOf = (request: IncomingMessage, use: (body: Buffer | undefined) => void): void => {
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= LONGEST_BODY) chunks.push(chunk)
  })
  request.on('end', () => {
    use(size <= LONGEST_BODY ? Buffer.concat(chunks) : undefined)
  })
  // A request that breaks off was never received.
  request.on('error', () => undefined)
}

const play = (response: ServerResponse, { status, after, then }: Answer): void => {
  const cancel =
    status === 'silence'
      ? () => undefined
      : systemClock.schedule(after, () => response.writeHead(status).end())
  response.once('close', () => {
    cancel()
    then?.()
  })
}

/**
 * Opens an HTTP server on 127.0.0.1 that does with every POST what `answer` says. Port 0 is any that is free. Fails as Node does when
 * the port cannot be had.
 */
export const openReceiver = (port: number, answer: (arrived: Arrived) => Answer): Promise<OpenReceiver> =>
  new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      bodyOf(request, (body) => {
        const [path = '/'] = (request.url ?? '/').split('?')
        if (request.method !== 'POST') response.writeHead(405, { Allow: 'POST' }).end()
        else if (body === undefined) response.writeHead(413).end()
        else play(response, answer({ path, signature: request.headers['x-signature'], body }))
      })
    })
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({
        url: `http://127.0.0.1:${String(bound)}/`,
        close: () =>
          new Promise((closed) => {
            server.close(() => {
              closed()
            })
            server.closeAllConnections()
          }),
      })
    })
  })

const COLOURS: Readonly<Record<Judgement['verdict'], Style>> = {
  authentic: 'green',
  'not authentic': 'red',
  'not checked': 'yellow',
}

/** One line of NDJSON: what came. A body that is none is written as a JSON text. */
const lineOfBody = (body: Buffer): string => {
  const text = body.toString('utf8')
  return /^[{[][^\r\n]*$/.test(text) ? text : JSON.stringify(text)
}

interface Parts {
  readonly options: ListenOptions
  readonly terminal: Terminal
  /** Is called when everything was done that was to be done. */
  readonly enough: () => void
}

interface Desk {
  readonly answer: (arrived: Arrived) => Answer
  readonly tally: () => Tally.Tally
  readonly close: () => Promise<void>
}

const desk = ({ options, terminal, enough }: Parts): Desk => {
  const { secret, respond, fail, delay, once, output } = options
  const file = options.out === undefined ? undefined : lineFile(options.out)
  let tally = Tally.empty
  let answered = 0
  let complained = false

  const statusFor = ({ verdict }: Judgement): number => {
    if (systemRandom() < fail) return 503
    return verdict === 'not authentic' ? 401 : respond
  }

  const show = ({ path, body }: Arrived, judgement: Judgement, status: number): void => {
    const { verdict, why } = judgement
    const { type, id } = eventOf(body)
    if (output === 'json')
      terminal.out.line(
        toJson({ t: 'request', n: tally.requests, path, type, id, bytes: body.length, verdict, why, status }),
      )
    if (output !== 'lines') return
    const word = terminal.out.paint(COLOURS[verdict], verdict.padEnd(13))
    const event = [type ?? '-', id ?? '-'].map((each) => plain(each)).join(' ')
    const reason = verdict === 'not authentic' ? `  ${String(why)}` : ''
    terminal.out.line(
      `${word} POST ${plain(path)}  ${event}  ${String(body.length)} bytes  answered ${String(status)}${reason}`,
    )
  }

  const keep = (body: Buffer): void => {
    file?.write(lineOfBody(body), (error) => {
      if (!(error instanceof Error) || complained) return
      complained = true
      terminal.err.line(`headrace listen: --out could not be written: ${whyNot(error)}`)
    })
  }

  return {
    answer: (arrived) => {
      const judgement = judge(secret, arrived)
      const status = statusFor(judgement)
      tally = Tally.count(tally, judgement.verdict)
      show(arrived, judgement, status)
      if (status < 300 && judgement.verdict !== 'not authentic') keep(arrived.body)
      return {
        status,
        after: delay,
        then: () => {
          answered++
          if (answered === once) enough()
        },
      }
    },
    tally: () => tally,
    close: () =>
      new Promise((resolve) => {
        if (file === undefined) resolve()
        else file.end(resolve)
      }),
  }
}

const serve = async (options: ListenOptions, terminal: Terminal): Promise<number> => {
  const { promise: over, enough } = waiting()
  const work = desk({ options, terminal, enough })
  let receiver: OpenReceiver
  try {
    receiver = await openReceiver(options.port, work.answer)
  } catch (error) {
    terminal.err.line(
      `headrace listen: port ${String(options.port)} cannot be had: ${whyNot(error)}; give another PORT, or 0 for any`,
    )
    return USAGE
  }
  const stop = stopSignals()
  for (const signal of [stop.gently, terminal.out.gone]) signal.addEventListener('abort', enough)
  const { url } = receiver
  terminal.out.line(options.output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  await over
  await receiver.close()
  await work.close()
  stop.release()
  const tally = work.tally()
  if (options.output === 'json') terminal.out.line(toJson({ t: 'summary', ...tally }))
  else terminal.err.line(`headrace: ${Tally.show(tally)}`)
  const { once } = options
  return once !== undefined && (tally.notAuthentic > 0 || tally.requests < once) ? FAULT : FINE
}

const waiting = (): { readonly promise: Promise<void>; readonly enough: () => void } => {
  let enough = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    enough = resolve
  })
  return { promise, enough }
}

/** `headrace listen`: a receiver that verifies and prints, and misbehaves on purpose. Answers the exit code. */
export const listenCommand = async (
  port: string,
  flags: ListenFlags,
  terminal: Terminal,
): Promise<number> => {
  const options = listenOptions(port, flags, process.env)
  if (options._tag === 'Right') return serve(options.right, terminal)
  for (const sentence of options.left) terminal.err.line(`headrace listen: ${sentence}`)
  return USAGE
}

import { systemRandom } from '../core/clock.ts'
import type { Secret } from '../signing/secret.ts'
import { verifyRaw } from '../signing/verify.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { ListenOptions } from './flags.ts'
import { UsageError, orUsage, parseCount } from './options.ts'
import { eventOf, openReceiver } from './receiver.ts'
import type { Answer, Arrived, Server } from './receiver.ts'
import { plain, toJson, whyNot } from './report.ts'
import { FAULT, FINE, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Whether a request was signed with the secret. */
export interface Judgement {
  readonly verdict: 'authentic' | 'not authentic' | 'not checked'
  /** What is wrong and what to do, unless it is authentic. */
  readonly why?: string
}

/** Checks the signature over the bytes as they arrived. */
export const judge = (secret: Secret | undefined, { body, signature }: Omit<Arrived, 'path'>): Judgement => {
  if (secret === undefined)
    return {
      verdict: 'not checked',
      why:
        signature === undefined
          ? 'it is not signed'
          : 'it is signed, and no secret was given: give --secret-env to verify it',
    }
  const result = verifyRaw(secret, body, signature)
  return result._tag === 'Right'
    ? { verdict: 'authentic' }
    : { verdict: 'not authentic', why: result.left.explanation }
}

const COLOURS = { authentic: 'green', 'not authentic': 'red', 'not checked': 'yellow' } as const
const COUNTED = {
  authentic: 'authentic',
  'not authentic': 'notAuthentic',
  'not checked': 'notChecked',
} as const

/** A body as one line of NDJSON; a body that is no JSON of one line becomes a JSON string. */
const lineOfBody = (body: Buffer): string => {
  const text = body.toString('utf8')
  return /^[{[][^\r\n]*$/.test(text) ? text : JSON.stringify(text)
}

/** `headrace listen`: receives webhooks on 127.0.0.1, verifies and prints them, and fails on purpose. */
export const listenCommand = async (
  portText: string | undefined,
  options: ListenOptions,
  { out, err, host }: Terminal,
): Promise<number> => {
  const port = orUsage(parseCount('PORT', portText ?? '', 0, 65_535))
  const { secret, respond, fail, delay, once, output } = options
  const file = options.out === undefined ? undefined : lineFile(options.out)
  const counts = { requests: 0, authentic: 0, notAuthentic: 0, notChecked: 0 }
  let answered = 0
  let hasFailed = false
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })

  const show = ({ path, body }: Arrived, { verdict, why }: Judgement, status: number): void => {
    const { type, id } = eventOf(body)
    const bytes = body.length
    if (output === 'json')
      out.line(toJson({ t: 'request', n: counts.requests, path, type, id, bytes, verdict, why, status }))
    if (output !== 'lines') return
    const word = out.paint(COLOURS[verdict], verdict.padEnd(13))
    const event = `${plain(type ?? '-')} ${plain(id ?? '-')}`
    const reason = verdict === 'not authentic' ? `  ${String(why)}` : ''
    out.line(
      `${word} POST ${plain(path)}  ${event}  ${String(bytes)} bytes  answered ${String(status)}${reason}`,
    )
  }

  const keep = (body: Buffer): void => {
    file?.write(lineOfBody(body), (error) => {
      if (!(error instanceof Error) || hasFailed) return
      hasFailed = true
      err.line(`headrace listen: --out could not be written: ${whyNot(error)}`)
    })
  }

  const answer = (arrived: Arrived): Answer => {
    const judgement = judge(secret, arrived)
    const isForged = judgement.verdict === 'not authentic'
    const status = systemRandom() < fail ? 503 : isForged ? 401 : respond
    counts.requests++
    counts[COUNTED[judgement.verdict]]++
    show(arrived, judgement, status)
    if (status < 300 && !isForged) keep(arrived.body)
    const onClosed = (): void => {
      if (++answered === once) end()
    }
    return { status, after: delay, onClosed }
  }

  let receiver: Server
  try {
    receiver = await openReceiver(port, answer)
  } catch (error) {
    throw new UsageError([
      `port ${String(port)} cannot be used: ${whyNot(error)}; give another PORT, or 0 for any`,
    ])
  }
  const stop = stopSignals(host)
  stop.gently.addEventListener('abort', end)
  out.gone.addEventListener('abort', end)
  const url = `${receiver.origin}/`
  out.line(output === 'json' ? toJson({ t: 'ready', url }) : `ready ${url}`)
  await ended
  receiver.close()
  await new Promise<void>((resolve) => {
    if (file === undefined) resolve()
    else file.end(resolve)
  })
  stop.release()
  const { requests, authentic, notAuthentic, notChecked } = counts
  if (output === 'json') out.line(toJson({ t: 'summary', ...counts }))
  else
    err.line(
      `headrace: requests ${String(requests)} · authentic ${String(authentic)} · not authentic ${String(notAuthentic)} · not checked ${String(notChecked)}`,
    )
  return once !== undefined && (notAuthentic > 0 || requests < once) ? FAULT : FINE
}

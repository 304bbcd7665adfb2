import { systemRandom } from '../../clock/Random.ts'
import { lineFile } from '../../sinks/LineFile.ts'
import { FAULT, FINE, USAGE } from '../ExitCode.ts'
import { plain } from '../output/plain.ts'
import { toJson } from '../output/Report.ts'
import { whyNot } from '../output/whyNot.ts'
import { stopSignals } from '../stopSignals.ts'
import type { Style, Terminal } from '../Terminal.ts'
import { eventOf } from './eventOf.ts'
import { judge } from './judge.ts'
import type { Judgement } from './judge.ts'
import { listenOptions } from './ListenOptions.ts'
import type { ListenFlags, ListenOptions } from './ListenOptions.ts'
import { openReceiver } from './openReceiver.ts'
import type { Answer, Arrived, OpenReceiver } from './openReceiver.ts'
import * as Tally from './Tally.ts'

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

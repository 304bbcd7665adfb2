/**
 * What `send` and `batch` have in common: events are read, carried away, reported, accounted for.
 *
 * @module
 */
import { addAbortSignal } from 'node:stream'
import { ndjson } from '../../sources/ndjson.ts'
import { exitCodeOf, FAULT, USAGE } from '../ExitCode.ts'
import type { Output } from '../output/Output.ts'
import { progressBar } from '../output/progressBar.ts'
import type { ProgressBar } from '../output/progressBar.ts'
import type { Report, UrlTotals } from '../output/Report.ts'
import { toJson } from '../output/Report.ts'
import { reporter } from '../output/reporter.ts'
import { whyNot } from '../output/whyNot.ts'
import { stopSignals } from '../stopSignals.ts'
import type { Stop } from '../stopSignals.ts'
import { show, undelivered } from '../Summary.ts'
import type { Terminal } from '../Terminal.ts'
import type { OpenCarrier } from './Carrier.ts'
import { openDeadFile } from './DeadFile.ts'
import type { DeadFile } from './DeadFile.ts'
import { forward } from './forward.ts'
import type { Account, Run } from './forward.ts'
import { openInput } from './Input.ts'
import type { Input } from './Input.ts'

/** What is to be carried away, and how it is told. */
export interface Errand {
  /** Its command: `send`. */
  readonly command: string
  /** Where events are read from; `-` is stdin. */
  readonly file: string
  readonly open: OpenCarrier
  /** Where what is not delivered is kept. */
  readonly dead: string | undefined
  /** The folder in which events wait, if they outlive the process. */
  readonly outbox?: string | undefined
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly output: Output
}

interface Parts {
  readonly errand: Errand
  readonly input: Input
  readonly dead: DeadFile | undefined
  readonly stop: Stop
  readonly terminal: Terminal
}

const drawProgress = async (
  { errand, input, terminal }: Parts,
  run: Run,
): Promise<ProgressBar | undefined> => {
  if (!terminal.err.isTTY || errand.output === 'quiet' || input.isKeyboard) return undefined
  return progressBar(process.stderr, terminal, () => {
    const summary = run.summary()
    const { accepted, waiting, delivered, rejected, expired } = summary
    const ended = accepted === 0 ? 1 : (accepted - waiting) / accepted
    const read = input.share()
    return {
      share: read === undefined ? undefined : read * ended,
      text: `${String(delivered)} delivered, ${String(waiting)} waiting, ${String(rejected + expired)} dead`,
    }
  })
}

/** What a person should know at the end, beside the numbers. */
const notesOf = ({ errand, dead, terminal }: Parts, account: Account): ReadonlyArray<string> => {
  const { summary, cut, inputError } = account
  const notes: string[] = []
  if (cut && inputError === undefined) notes.push('stopped: the input was not read to its end')
  if (summary.read === 0) notes.push('the input holds no events, so there was nothing to send')
  const lost = undelivered(summary)
  const { outbox } = errand
  if (outbox !== undefined) {
    const buried = summary.rejected + summary.expired
    if (summary.waiting > 0)
      notes.push(
        `${String(summary.waiting)} wait in ${outbox}: the same command goes on with them, and with the rest of the input`,
      )
    if (buried > 0)
      notes.push(`${String(buried)} dead, kept in ${outbox}: see headrace dead ls --outbox ${outbox}`)
  } else if (dead === undefined) {
    if (lost > 0)
      notes.push(`${String(lost)} not delivered; with --dead FILE they are kept, to be sent again`)
  }
  if (dead !== undefined) {
    const failure = dead.failure()
    if (failure !== undefined)
      notes.push(
        `--dead '${String(errand.dead)}' could not be written: ${failure}; ${String(lost - dead.kept())} events are not in it`,
      )
    if (dead.kept() > 0)
      notes.push(
        `${String(dead.kept())} not delivered, now in ${String(errand.dead)}; send them again with: headrace ${errand.command} ${String(errand.dead)} …`,
      )
  }
  const output = terminal.out.failure()
  if (output !== undefined) notes.push(`the output could not be written: ${output}`)
  return notes
}

const conclude = (parts: Parts, account: Account, urls: ReadonlyArray<UrlTotals>): number => {
  const { terminal, errand, dead } = parts
  const { summary, cut, inputError } = account
  if (errand.output === 'json') terminal.out.line(toJson({ t: 'summary', ...summary }))
  else {
    for (const { url, delivered, failed, passedOver } of urls) {
      const over = passedOver === 0 ? '' : `, ${String(passedOver)} passed over`
      terminal.err.line(
        `headrace: ${url}  ${String(delivered)} requests taken, ${String(failed)} failed${over}`,
      )
    }
    terminal.err.line(`headrace: ${show(summary)}`)
  }
  for (const note of notesOf(parts, account)) terminal.err.line(`headrace: ${note}`)
  const faulty =
    inputError !== undefined || dead?.failure() !== undefined || terminal.out.failure() !== undefined
  return faulty ? FAULT : exitCodeOf(summary, cut)
}

const run = async (parts: Parts): Promise<number> => {
  const { errand, input, dead, stop, terminal } = parts
  const write = reporter(terminal, errand.output)
  const urls: UrlTotals[] = []
  const report = (each: Report): void => {
    if (each.t === 'url') urls.push(each)
    write(each)
  }
  stop.gently.addEventListener('abort', () => {
    terminal.err.line('headrace: stopping: what is on its way may end; once more to stop at once')
  })
  addAbortSignal(stop.gently, input.stream)
  const work = forward({
    lines: ndjson(input.stream),
    open: errand.open,
    grace: errand.grace,
    stop,
    report,
    undelivered: (call, reason) => dead?.keep(call, reason),
    broken: (error) => {
      terminal.err.line(
        `headrace: the input could not be read to its end: ${whyNot(error)}; what was taken goes on`,
      )
    },
    caughtUp: terminal.out.caughtUp,
  })
  const bar = await drawProgress(parts, work)
  const account = await work.done
  bar?.stop()
  await dead?.close()
  return conclude(parts, account, urls)
}

/** Runs an errand to its end. Answers the exit code. */
export const runErrand = async (errand: Errand, terminal: Terminal): Promise<number> => {
  const complain = (sentences: ReadonlyArray<string>): number => {
    for (const sentence of sentences) terminal.err.line(`headrace ${errand.command}: ${sentence}`)
    return USAGE
  }
  const input = await openInput(errand.file)
  if (input._tag === 'Left') return complain(input.left)
  const dead = errand.dead === undefined ? undefined : openDeadFile(errand.dead, input.right)
  if (dead?._tag === 'Left') return complain(dead.left)
  if (input.right.isKeyboard)
    terminal.err.line(`headrace: reading events from the keyboard, one JSON object a line; Ctrl-D ends`)
  const stop = stopSignals()
  const code = await run({ errand, input: input.right, dead: dead?.right, stop, terminal })
  stop.release()
  if (stop.now.aborted) process.exit(code)
  return code
}

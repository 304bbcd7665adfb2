/**
 * What `send` and `batch` have in common: events are read, carried away, reported, accounted for.
 *
 * @module
 */

import { createReadStream } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { right } from 'fp-ts/lib/Either.js'
import { ndjson } from '../sources/ndjson.ts'
import { openDeadFile, forward, notesOf } from './forward.ts'
import type { OpenCarrier, DeadFile, Account, Origin, Run } from './forward.ts'
import { noInput, openInput } from './input.ts'
import type { Input } from './input.ts'
import { progressBar } from './progressBar.ts'
import type { ProgressBar } from './progressBar.ts'
import { toJson, reporter, whyNot } from './report.ts'
import type { Report, UrlTotals } from './report.ts'
import { show } from './summary.ts'
import { exitCodeOf, FAULT, USAGE, stopSignals } from './terminal.ts'
import type { Stop, Terminal } from './terminal.ts'
import type { Output } from './values.ts'

/** What is to be carried away, and how it is told. */
export interface Errand {
  /** Its command: `send`. */
  readonly command: string
  /** Where events are read from; `-` is stdin, and so is nothing. */
  readonly file: string | undefined
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

const conclude = (parts: Parts, account: Account, urls: ReadonlyArray<UrlTotals>): number => {
  const { terminal, errand, dead } = parts
  const { summary, cut, inputError } = account
  const forgotten = account.stored === undefined ? {} : { forgotten: account.stored.forgotten }
  if (errand.output === 'json') terminal.out.line(toJson({ t: 'summary', ...summary, ...forgotten }))
  else {
    for (const { url, delivered, failed, passedOver } of urls) {
      const over = passedOver === 0 ? '' : `, ${String(passedOver)} passed over`
      terminal.err.line(
        `headrace: ${url}  ${String(delivered)} requests taken, ${String(failed)} failed${over}`,
      )
    }
    terminal.err.line(`headrace: ${show(summary)}`)
  }
  for (const note of notesOf(errand, account, dead)) terminal.err.line(`headrace: ${note}`)
  const output = terminal.out.failure()
  if (output !== undefined) terminal.err.line(`headrace: the output could not be written: ${output}`)
  const faulty = inputError !== undefined || dead?.failure() !== undefined || output !== undefined
  return faulty ? FAULT : exitCodeOf(summary, cut)
}

const originOf = (name: string, { errand, stop, terminal }: Parts): Origin => ({
  name,
  again: () => ndjson(addAbortSignal(stop.gently, createReadStream(name))),
  onResumed: (how) => {
    terminal.err.line(
      how === 'other'
        ? `headrace: ${String(errand.file)} is not what an earlier run took to its end: it is read from its first line`
        : `headrace: ${String(how.passed)} lines of ${String(errand.file)} were taken by an earlier run; --from-start sends them again`,
    )
  },
})

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
  const { name } = input
  const origin = name === undefined ? undefined : originOf(name, parts)
  const work = forward({
    lines: ndjson(input.stream),
    origin,
    open: errand.open,
    grace: errand.grace,
    stop,
    report,
    undelivered: (call, reason) => dead?.keep(call, reason),
    broken: (error) => {
      terminal.err.line(
        `headrace: the input was not read to its end: ${whyNot(error)}; what was taken goes on`,
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
  const { file = '-', outbox } = errand
  // Whoever names a folder and nothing else at a keyboard wants what waits in it.
  const isIdle = errand.file === undefined && outbox !== undefined && process.stdin.isTTY
  const input = isIdle ? right(noInput()) : await openInput(file)
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

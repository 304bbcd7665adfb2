/**
 * What `send` and `batch` share around a run: input, `--dead`, progress, the account and its notes, the exit code.
 *
 * @module
 */

import { right } from 'fp-ts/lib/Either.js'
import {
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  notBefore,
} from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { openDeadFile } from './deadFile.ts'
import type { DeadFile } from './deadFile.ts'
import { forward } from './forward.ts'
import type { Account, OpenTarget, Run } from './forward.ts'
import { noInput, openInput } from './input.ts'
import type { Input } from './input.ts'
import { orUsage } from './options.ts'
import type { Output } from './options.ts'
import { drawProgress } from './progress.ts'
import { reporter, toJson, whyNot } from './report.ts'
import type { UrlTotals } from './report.ts'
import { show } from './summary.ts'
import { DEAD, FAULT, FINE, STOPPING, exitCodeOf, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Bytes of events that may wait. */
export const MAX_BYTES = 268_435_456

export interface Job {
  /** `send` or `batch`. */
  readonly command: string
  /** `-` is stdin; so is undefined. */
  readonly file: string | undefined
  readonly open: OpenTarget
  /** The file of `--dead`. */
  readonly dead: string | undefined
  /** The folder of `--outbox`. */
  readonly outbox?: string | undefined
  readonly fromStart?: boolean
  /** Milliseconds. */
  readonly grace: number
  readonly output: Output
}

/** The standard retry policy with another deadline; 0 is one attempt. */
export const retryFor = (millis: number): RetryPolicy =>
  both(
    fullJitter(capDelay(600_000)(exponential())),
    both(millis === 0 ? limitRetries(0) : deadline(millis), notBefore),
  )

const notesOfFolder = ({ summary, evicted = 0, corrupt }: Account, folder: string): ReadonlyArray<string> => {
  const { waiting, rejected, expired } = summary
  const dead = rejected + expired + corrupt
  const unreadable = corrupt === 0 ? '' : `, ${String(corrupt)} of them damaged records`
  const gone = evicted === 0 ? '' : `; ${String(evicted)} of the oldest were removed to make room`
  return [
    ...(waiting === 0
      ? []
      : [`${String(waiting)} wait in ${folder}: the same command delivers them, and reads on from here`]),
    ...(dead === 0
      ? []
      : [
          `${String(dead)} dead letters are in ${folder}${unreadable}${gone}: see headrace dead ls --outbox ${folder}`,
        ]),
  ]
}

const notesOfDeadFile = (
  lost: number,
  { command, dead: name = '' }: Job,
  file: DeadFile,
): ReadonlyArray<string> => {
  const failure = file.failure()
  return [
    ...(failure === undefined
      ? []
      : [
          `--dead '${name}' could not be written: ${failure}; ${String(lost - file.count())} events are not in it`,
        ]),
    ...(file.count() === 0
      ? []
      : [
          `${String(file.count())} not delivered, now in ${name}; send them again with: headrace ${command} ${name} …`,
        ]),
  ]
}

/** What people should know at the end beside the numbers. */
export const notesOf = (job: Job, account: Account, dead: DeadFile | undefined): ReadonlyArray<string> => {
  const { summary, cut, inputError, isResumed } = account
  const lost = summary.accepted - summary.delivered
  const waited = job.outbox === undefined ? '' : ` and nothing waited in ${job.outbox},`
  return [
    ...(cut && inputError === undefined ? ['stopped: the input was not read to its end'] : []),
    ...(summary.read === 0 && inputError === undefined
      ? [`the input holds ${isResumed ? 'nothing new' : 'no events'},${waited} so there was nothing to send`]
      : []),
    ...(job.outbox === undefined ? [] : notesOfFolder(account, job.outbox)),
    ...(job.outbox === undefined && dead === undefined && lost > 0
      ? [`${String(lost)} not delivered; --dead FILE keeps them, to be sent again`]
      : []),
    ...(dead === undefined ? [] : notesOfDeadFile(lost, job, dead)),
  ]
}

const progressOf = (run: Run, input: Input) => () => {
  const { accepted, waiting, delivered, rejected, expired } = run.summary()
  const ended = accepted === 0 ? 1 : (accepted - waiting) / accepted
  const read = input.share()
  return {
    share: read === undefined ? undefined : read * ended,
    text: `${String(delivered)} delivered, ${String(waiting)} waiting, ${String(rejected + expired)} dead`,
  }
}

const writeAccount = (
  { out, err }: Terminal,
  { output }: Job,
  { summary, evicted }: Account,
  urls: ReadonlyArray<UrlTotals>,
): void => {
  if (output === 'json') {
    out.line(toJson({ t: 'summary', ...summary, ...(evicted === undefined ? {} : { forgotten: evicted }) }))
    return
  }
  for (const { url, delivered, failed, passedOver } of urls) {
    const skipped = passedOver === 0 ? '' : `, ${String(passedOver)} skipped while it was busy`
    err.line(`headrace: ${url}  ${String(delivered)} requests succeeded, ${String(failed)} failed${skipped}`)
  }
  err.line(`headrace: ${show(summary)}`)
}

/** Runs a job to its end. Resolves with the exit code. @throws UsageError */
export const runForward = async (job: Job, terminal: Terminal): Promise<number> => {
  const { out, err, host } = terminal
  const { file = '-', output } = job
  // At a keyboard, an outbox without a file means: deliver what waits.
  const isIdle = job.file === undefined && job.outbox !== undefined && host.stdin.isTTY === true
  const input = orUsage(isIdle ? right(noInput()) : await openInput(file, host))
  const dead = job.dead === undefined ? undefined : orUsage(openDeadFile(job.dead, input))
  if (input.isKeyboard)
    err.line('headrace: reading events from the keyboard, one JSON object a line; Ctrl-D ends')

  const stop = stopSignals(host)
  stop.gently.addEventListener('abort', () => err.line(STOPPING))
  const write = reporter(terminal, output)
  const urls: UrlTotals[] = []
  try {
    const run = forward({
      input,
      open: job.open,
      grace: job.grace,
      stop,
      fromStart: job.fromStart ?? false,
      report: (report) => {
        if (report.t === 'url') urls.push(report)
        write(report)
      },
      undelivered: (call, reason) => dead?.add(call, reason),
      onResumed: (line) =>
        err.line(
          line === 0
            ? `headrace: ${file} is not the file that an earlier run read: reading it from its first line`
            : `headrace: ${file}: going on after line ${String(line)}, up to which an earlier run read; --from-start sends all of it again`,
        ),
      onInputError: (error) =>
        err.line(
          `headrace: the input was not read to its end: ${whyNot(error)}; delivery of what was accepted goes on`,
        ),
      caughtUp: out.caughtUp,
    })
    const isDrawn = err.isTTY && output !== 'quiet' && !input.isKeyboard
    const erase = isDrawn ? await drawProgress(terminal, progressOf(run, input)) : undefined
    const account = await run.done
    erase?.()
    await dead?.close()
    writeAccount(terminal, job, account, urls)
    for (const note of notesOf(job, account, dead)) err.line(`headrace: ${note}`)
    const failure = out.failure()
    if (failure !== undefined) err.line(`headrace: the output could not be written: ${failure}`)
    const isFaulty =
      account.inputError !== undefined || dead?.failure() !== undefined || failure !== undefined
    const ended = exitCodeOf(account.summary, account.cut)
    const code = isFaulty ? FAULT : account.corrupt > 0 && ended === FINE ? DEAD : ended
    // Requests in flight would keep the process alive.
    if (stop.now.aborted) host.exit(code)
    return code
  } finally {
    stop.release()
  }
}

import { systemClock } from '../../clock/Clock.ts'
import { nextTurn } from '../../clock/nextTurn.ts'
import { FAULT, FINE, USAGE } from '../ExitCode.ts'
import { plain } from '../output/plain.ts'
import { toJson } from '../output/Report.ts'
import { showCauses } from '../output/showCauses.ts'
import type { Terminal } from '../Terminal.ts'
import { deadOptions } from './DeadOptions.ts'
import type { DeadFlags, DeadOptions } from './DeadOptions.ts'
import type { Kind } from './Dead.ts'
import { causesIn, endOf, matching } from './Filter.ts'
import type { Letter } from './Filter.ts'
import { letters } from './letters.ts'
import { withOutbox } from './withOutbox.ts'
import type { StoredDead } from './withOutbox.ts'

/** What is to be done with dead letters. */
export type DeadAction = 'ls' | 'show' | 'redrive' | 'purge'

interface Task {
  readonly action: DeadAction
  /** Of one letter, for `show`. */
  readonly id: string | undefined
  readonly options: DeadOptions
  /** What lies in the folder. */
  readonly kind: Kind
  readonly terminal: Terminal
}

const turn = (): Promise<void> => new Promise(nextTurn)

const whole = (letter: Letter): object => {
  const { id, at, entry, outcome } = letter
  return {
    t: 'dead',
    id,
    at: new Date(at).toISOString(),
    outcome: endOf(letter),
    n: outcome.attempts,
    causes: causesIn(letter),
    call: entry.item.call(),
  }
}

const lineOf = (letter: Letter, { paint }: Terminal['out']): string => {
  const { id, at, entry, outcome } = letter
  const { type, id: messageId } = entry.item
  const what = `${new Date(at).toISOString()}  ${type.padEnd(8)} ${plain(messageId)}`
  const why = `${showCauses(causesIn(letter))}, after ${String(outcome.attempts)} attempts`
  return `${id.padEnd(8)} ${paint('red', endOf(letter).padEnd(9))} ${what}  ${why}`
}

const list = async (outbox: StoredDead, { options, terminal }: Task): Promise<number> => {
  const { output, filter } = options
  let count = 0
  for await (const letter of letters(outbox, filter)) {
    count++
    await terminal.out.caughtUp()
    // What was written last fails a turn later.
    if (count % 100 === 0) await turn()
    if (terminal.out.gone.aborted) return FINE
    if (output === 'json') terminal.out.line(toJson(whole(letter)))
    else if (output === 'lines') terminal.out.line(lineOf(letter, terminal.out))
  }
  const { dead, waiting, quarantined, forgotten } = outbox.stats()
  const parts = [
    `${String(count)} of ${String(dead)} dead letters`,
    `${String(waiting)} events wait`,
    ...(forgotten === 0 ? [] : [`${String(forgotten)} older letters made room for these, and are gone`]),
    ...(quarantined === 0
      ? []
      : [`${String(quarantined)} records could not be read: see headrace dead purge --unreadable`]),
  ]
  if (output !== 'json') terminal.err.line(`headrace: ${parts.join('; ')}`)
  return FINE
}

const show = async (outbox: StoredDead, { id, options, terminal }: Task): Promise<number> => {
  for await (const letter of letters(outbox, options.filter)) {
    if (letter.id !== id) continue
    terminal.out.line(
      options.output === 'json' ? toJson(whole(letter)) : JSON.stringify(whole(letter), null, 2),
    )
    return FINE
  }
  terminal.err.line(`headrace dead show: there is no dead letter ${plain(String(id))}: see headrace dead ls`)
  return FAULT
}

interface Preview {
  readonly count: number
  /** `2 of 5 dead letters: 1 rejected, 1 expired`. */
  readonly meant: string
}

const preview = async (outbox: StoredDead, { filter }: DeadOptions): Promise<Preview> => {
  const ends = new Map<string, number>()
  let count = 0
  for await (const letter of letters(outbox, filter)) {
    count++
    ends.set(endOf(letter), (ends.get(endOf(letter)) ?? 0) + 1)
  }
  const parts = [...ends].map(([end, of]) => `${String(of)} ${end}`)
  const of = `${String(count)} of ${String(outbox.stats().dead)} dead letters`
  return { count, meant: count === 0 ? of : `${of}: ${parts.join(', ')}` }
}

const discard = async (outbox: StoredDead, { options, terminal }: Task): Promise<number> => {
  const { output, yes } = options
  const count = yes ? await outbox.discardUnreadable() : outbox.stats().quarantined
  if (output === 'json') terminal.out.line(toJson({ t: 'purge', done: yes, unreadable: count }))
  else if (output === 'lines')
    terminal.out.line(
      yes
        ? `${String(count)} records that could not be read were forgotten for good`
        : `${String(count)} records that could not be read would be forgotten for good; do it with --yes`,
    )
  return FINE
}

/** How what was put back to wait is sent. */
const adviceFor = ({ options: { outbox }, kind }: Task): string =>
  kind === 'messages'
    ? `the client whose folder this is sends them when it is started again`
    : `send them with: headrace send --outbox ${outbox} --to URL; or start again whoever has this folder, which sends them, too`

const change = async (outbox: StoredDead, task: Task): Promise<number> => {
  const { action, options, terminal } = task
  const { filter, output, unreadable, yes } = options
  if (unreadable) return discard(outbox, task)
  const verb = action === 'redrive' ? 'put back to wait' : 'forgotten for good'
  if (!yes) {
    const { count, meant } = await preview(outbox, options)
    if (output === 'json') terminal.out.line(toJson({ t: action, done: false, count, meant }))
    else if (output === 'lines') terminal.out.line(`${meant} would be ${verb}; do it with --yes`)
    return FINE
  }
  const { dead } = outbox
  const count = await (action === 'redrive' ? dead.redrive(matching(filter)) : dead.purge(matching(filter)))
  if (output === 'json') terminal.out.line(toJson({ t: action, done: true, count }))
  else if (output === 'lines') terminal.out.line(`${String(count)} dead letters were ${verb}`)
  if (action === 'redrive' && output !== 'json' && count > 0)
    terminal.err.line(`headrace: ${adviceFor(task)}`)
  return FINE
}

const act = (outbox: StoredDead, task: Task): Promise<number> => {
  switch (task.action) {
    case 'ls':
      return list(outbox, task)
    case 'show':
      return show(outbox, task)
    case 'redrive':
    case 'purge':
      return change(outbox, task)
  }
}

/** `headrace dead`: what died in an outbox on the disk. Answers the exit code. */
export const deadCommand = async (
  action: DeadAction,
  id: string | undefined,
  flags: DeadFlags,
  terminal: Terminal,
): Promise<number> => {
  const complain = (sentences: ReadonlyArray<string>): number => {
    for (const sentence of sentences) terminal.err.line(`headrace dead ${action}: ${sentence}`)
    return USAGE
  }
  const options = deadOptions(flags, systemClock.now())
  if (options._tag === 'Left') return complain(options.left)
  const task = { action, id, options: options.right, terminal }
  const code = await withOutbox(options.right.outbox, (outbox, kind) => act(outbox, { ...task, kind }))
  if (code._tag === 'Left') return complain(code.left)
  // What was written last fails a turn later.
  await turn()
  const failure = terminal.out.failure()
  if (failure === undefined) return code.right
  terminal.err.line(`headrace dead ${action}: the output could not be written: ${failure}`)
  return FAULT
}

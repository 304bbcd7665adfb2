import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { EVENTS, NO_HARM, SIZE, addsUp, explained, isEmpty, killed, newSeed, scratch } from './killed.ts'
import { startLife } from './lives.ts'
import { callOf, nameOf } from './messages.js'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))
/** The relay of a destination has so many in its round at most (DE8), and so many that have ended and are not synced (HD48). */
const IN_ROUND = 1_000 + 16

/** Without an id, and without a time of its own: a line that was taken twice would be told by both. */
const nameless = (name: string): object => {
  const { messageId: _, timestamp: __, ...call } = callOf(name)
  return call
}

const sendKilled = async (
  lineOf: (name: string) => object,
  flags: ReadonlyArray<string> = [],
  messages = SIZE.messages,
): Promise<void> => {
  const seed = newSeed()
  const folder = scratch()
  const file = `${folder}/events.ndjson`
  const path = `${folder}/outbox`
  const began = Date.now()
  const names = Array.from({ length: messages }, (_, number) => nameOf(number))
  writeFileSync(file, names.map((name) => `${JSON.stringify(lineOf(name))}\n`).join(''))
  const { account, end, summary } = await killed({
    ...SIZE,
    messages,
    seed,
    places: ['hook'],
    begin: (life, { account, receiver, hear }) => {
      // Each line is offered once, however often the command is started.
      if (life === 0) for (const name of names) account.offered(name)
      return startLife(
        [
          ...[MAIN, 'send', file, '--to', `${receiver.url}hook`, '--outbox', path],
          ...['--output', 'json', '--timeout', '1h', ...flags],
        ],
        hear,
      )
    },
  })
  // Whoever starts it again until it has ended has been promised all of its lines.
  for (const name of names) account.acknowledged(name)
  const { extra } = account.figures()
  const most = SIZE.kills * IN_ROUND
  console.log(
    `send ${flags.join(' ')}: seed ${seed}, ${SIZE.kills} kills, ${JSON.stringify(account.figures())}, extra at most ${most}, ${Date.now() - began} ms`,
  )
  expect(end).toMatchObject({ code: 0, signal: null })
  // Unless the kills came before anything was taken, it says where it went on, and nothing else.
  expect(end.stderr).toMatch(
    /^(headrace: \d+ lines of \S+ were taken by an earlier run; --from-start sends them again\n)?$/,
  )
  expect(account.harm()).toEqual(NO_HARM)
  expect(extra).toBeLessThanOrEqual(Math.min(most, explained(account.figures())))
  expect(summary()).toMatchObject({ refused: 0, waiting: 0, rejected: 0, expired: 0, abandoned: 0 })
  expect(addsUp(summary() ?? {})).toBe(true)
  await isEmpty(path, EVENTS)
}

const LIMIT = SIZE.limit + 20_000

it(
  `send --outbox that is killed ${SIZE.kills} times delivers each of ${SIZE.messages} lines with an id`,
  () => sendKilled(callOf),
  LIMIT,
)

it(
  `and each of ${SIZE.messages} lines without an id, under one id and with one body`,
  () => sendKilled(nameless),
  LIMIT,
)

it(
  'also when the outbox is at its bound whenever it is killed',
  () => sendKilled(nameless, ['--max-waiting', '50'], SIZE.messages / 2),
  LIMIT,
)

import * as Story from './demoStory.ts'
import { Readable } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import type { Settings } from '../destination/settings.ts'
import type { Call } from '../event/call.ts'
import { both, deadline, exponential, fullJitter } from '../policy/retryPolicy.ts'
import { secretFrom } from '../signing/secret.ts'
import { ndjson } from '../sources/ndjson.ts'
import { seededRandom } from '../testing/random.ts'
import { forward } from './forward.ts'
import { packageVersion } from './help.ts'
import { eventOf, judge, openReceiver } from './listen.ts'
import type { Answer, Arrived, OpenReceiver } from './listen.ts'
import { toJson, reporter } from './report.ts'
import { toWebhooks } from './send.ts'
import { show } from './summary.ts'
import type { Summary } from './summary.ts'
import { FAULT, FINE, USAGE, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'
import { OUTPUTS, parseChoice } from './values.ts'
import type { Output } from './values.ts'

/** The two receivers of the demo. */
export type Receiver = 'flaky' | 'slow'

/** What is wrong with them, in words. */
export const MOODS: Readonly<Record<Receiver, string>> = {
  flaky: 'answers 503 to four requests of ten',
  slow: 'takes its time, and leaves three requests of ten without an answer',
}

const SEEDS: Readonly<Record<Receiver, number>> = { flaky: 1_000_003, slow: 7_000_009 }

const seedOf = (text: string): number => {
  let hash = 0
  for (const char of text) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) | 0
  return hash
}

/**
 * What a receiver does to a request. It depends on the event and on how often it came, and on nothing else, so each demo has the same
 * troubles.
 *
 * @param time how often this event has come to this receiver, from 1
 * @param absurd the event makes no sense to the receiver
 */
export const moodOf = (receiver: Receiver, id: string, time: number, absurd: boolean): Answer => {
  const random = seededRandom(SEEDS[receiver] + seedOf(id) + time * 7_919)
  const luck = random()
  const haste = random()
  if (receiver === 'flaky') {
    const down = luck < 0.4
    return { status: down ? 503 : absurd ? 422 : 200, after: Math.round(2 + haste * 20) }
  }
  return luck < 0.3
    ? { status: 'silence', after: 0 }
    : { status: absurd ? 422 : 200, after: Math.round(60 + haste * 120) }
}

interface Person {
  readonly name: string
  readonly team: string
  readonly book: string
  readonly total: number
}

const PEOPLE: ReadonlyArray<Person> = [
  { name: 'ada', team: 'analytical engines', book: 'Sketch of the Engine', total: 18.15 },
  { name: 'grace', team: 'compilers', book: 'The Education of a Computer', total: 19.52 },
  { name: 'sofia', team: 'spinning tops', book: 'Über die Reduction', total: 18.74 },
  { name: 'emmy', team: 'symmetries', book: 'Idealtheorie 🜁', total: 19.21 },
  { name: 'alan', team: 'machines', book: 'On Computable Numbers', total: 19.36 },
  { name: 'edsger', team: 'shortest paths', book: 'A Discipline of Programming', total: 19.76 },
]

/** A visitor becomes a customer: what a shop would send. */
const journey = ({ name, team, book, total }: Person): ReadonlyArray<Call> => {
  const anonymousId = `visitor-${name}`
  const userId = `user-${name}`
  const url = 'https://books.example'
  return [
    { type: 'page', anonymousId, name: 'Home', properties: { url: `${url}/`, title: 'Books' } },
    { type: 'page', anonymousId, name: 'Book', properties: { url: `${url}/book`, title: book } },
    { type: 'track', anonymousId, event: 'Sign Up Started', properties: { form: 'short' } },
    { type: 'alias', previousId: anonymousId, userId },
    { type: 'identify', userId, traits: { name, plan: 'reader', email: `${name}@books.example` } },
    { type: 'group', userId, groupId: `team-${name}`, traits: { name: team } },
    { type: 'screen', userId, name: 'Cart', context: { os: { name: 'Tablet OS', version: '7.1' } } },
    { type: 'track', userId, event: 'Product Added', properties: { book, quantity: 1 } },
    { type: 'track', userId, event: 'Order Completed', properties: { book, total } },
  ]
}

const events: ReadonlyArray<Call> = [
  ...PEOPLE.flatMap(journey),
  // Both receivers refuse it: a sum below zero makes no sense to them.
  { type: 'track', userId: 'user-ada', event: 'Order Completed', properties: { book: 'None', total: -1 } },
  { type: 'identify', userId: 'user-grace', traits: { plan: 'librarian' } },
  { type: 'delete', userId: 'user-sofia' },
  { type: 'page', userId: 'user-emmy', name: 'Home', properties: { url: 'https://books.example/' } },
  { type: 'track', userId: 'user-alan', event: 'Book Rated', properties: { stars: 5 } },
  { type: 'delete', userId: 'user-edsger' },
]

/** Two lines that are wrong, by the place at which they stand. Their neighbours do not suffer. */
const MISTAKES: ReadonlyMap<number, string> = new Map([
  [9, '{"type":"track","userId":7,"event":"Order Completed"}'],
  [30, '{"type":"identify","userId":"user-emmy","traits":{"plan":"reader"'],
])

/** What the demo sends: lines of NDJSON with events of all seven kinds, and two mistakes. */
export const sample = (): ReadonlyArray<string> => {
  const lines = events.map((event, at) =>
    JSON.stringify({ messageId: `demo-${String(at + 1).padStart(2, '0')}`, ...event }),
  )
  for (const [at, line] of MISTAKES) lines.splice(at, 0, line)
  return lines
}

/** Flags as commander hands them over. */
export interface DemoFlags {
  readonly output: string
}

/** Milliseconds between two lines, so that eyes can follow. */
const PACE = 40
/** Milliseconds for one attempt, far less than the 5 s of real life: a demo is short. */
const TIMEOUT = 500
const RECEIVERS: ReadonlyArray<Receiver> = ['flaky', 'slow']

const secret = secretFrom('a secret that both sides know')

const pause = (): Promise<void> =>
  new Promise((resolve) => {
    systemClock.schedule(PACE, resolve)
  })

const atAPace = async function* (lines: ReadonlyArray<string>): AsyncGenerator<string> {
  for (const line of lines) {
    await pause()
    yield `${line}\n`
  }
}

/** The sum of an order, if there is one: the receivers look at nothing else. */
const isAbsurd = (body: Buffer): boolean => body.includes('"total":-')

interface Stage {
  readonly receivers: ReadonlyArray<OpenReceiver>
  readonly settings: Settings
  readonly nameOf: (url: string) => string
  readonly story: () => Story.Story
  readonly watch: (change: (story: Story.Story) => Story.Story) => void
}

const openStage = async (): Promise<Stage> => {
  let story = Story.beginning
  const times = new Map<string, number>()
  const key = secret._tag === 'Right' ? secret.right : undefined

  const behave =
    (receiver: Receiver) =>
    (arrived: Arrived): Answer => {
      story = Story.received(story, judge(key, arrived).verdict === 'authentic')
      const id = eventOf(arrived.body).id ?? arrived.body.toString('utf8').slice(0, 60)
      const time = (times.get(`${receiver} ${id}`) ?? 0) + 1
      times.set(`${receiver} ${id}`, time)
      return moodOf(receiver, id, time, isAbsurd(arrived.body))
    }

  const receivers = await Promise.all(RECEIVERS.map((receiver) => openReceiver(0, behave(receiver))))
  const urls = receivers.map(({ url }, at) => `${url}${RECEIVERS[at] ?? ''}`)
  return {
    receivers,
    settings: { ...(key === undefined ? {} : { sharedSecret: key }), webhooks: urls.map((url) => ({ url })) },
    nameOf: (url) => RECEIVERS[urls.indexOf(url)] ?? url,
    story: () => story,
    watch: (change) => {
      story = change(story)
    },
  }
}

const introduce = ({ settings }: Stage, lines: number, { out }: Terminal): void => {
  const say = (text: string): void => {
    out.line(text)
  }
  say(`ready ${settings.webhooks.map(({ url }) => url).join(' ')}`)
  say('')
  say(
    `headrace ${packageVersion()} delivers events as signed webhooks. Here are two receivers, both on this machine:`,
  )
  for (const receiver of RECEIVERS) say(`  ${out.paint('bold', receiver.padEnd(6))} ${MOODS[receiver]}`)
  say(
    `${String(lines)} lines come in. Each event is sent to both, and is delivered when one of them has answered 2xx.`,
  )
  say(
    'If both fail it waits a little and is tried again. Two lines are wrong on purpose, and one event that nobody wants.',
  )
  say('')
}

const conclude = (stage: Stage, summary: Summary, { out }: Terminal): void => {
  out.line('')
  for (const [title, text] of Story.tell(stage.story(), summary, stage.nameOf))
    out.line(`${out.paint('bold', title.padEnd(9))} ${text}`)
  out.line('')
  out.line('Now with an event of your own. Start a receiver with')
  out.line('  npx headrace listen 7412')
  out.line('and in another terminal:')
  out.line(
    `  echo '{"type":"track","userId":"u1","event":"Hello"}' | npx headrace send --to http://127.0.0.1:7412/hook`,
  )
}

const play = async (output: Output, terminal: Terminal): Promise<number> => {
  const stage = await openStage()
  const stop = stopSignals()
  const lines = sample()
  const write = reporter(terminal, output, stage.nameOf)
  if (output === 'lines') introduce(stage, lines.length, terminal)
  if (output === 'json')
    terminal.out.line(toJson({ t: 'ready', urls: stage.settings.webhooks.map(({ url }) => url) }))
  const { done } = forward({
    lines: ndjson(Readable.from(atAPace(lines))),
    open: toWebhooks({
      settings: stage.settings,
      destination: {
        timeout: TIMEOUT,
        retry: both(fullJitter(exponential({ base: 600 })), deadline(8_000)),
        random: seededRandom(20),
        logger: false,
      },
      maxWaiting: 1_000,
    }),
    grace: 2_000,
    stop,
    report: (report) => {
      stage.watch((story) => Story.reported(story, report))
      write(report)
    },
    undelivered: () => undefined,
    broken: () => undefined,
    caughtUp: terminal.out.caughtUp,
  })
  const { summary } = await done
  await Promise.all(stage.receivers.map((receiver) => receiver.close()))
  stop.release()
  if (output === 'lines') conclude(stage, summary, terminal)
  else if (output === 'json') terminal.out.line(toJson({ t: 'summary', ...summary }))
  else terminal.err.line(`headrace: ${show(summary)}`)
  return Story.endedWell(stage.story(), summary) ? FINE : FAULT
}

/** `headrace demo`: everything that the library does, on this machine alone. Answers the exit code. */
export const demoCommand = async (flags: DemoFlags, terminal: Terminal): Promise<number> => {
  const output = parseChoice('--output', flags.output, OUTPUTS)
  if (output._tag === 'Right') return play(output.right, terminal)
  for (const sentence of output.left) terminal.err.line(`headrace demo: ${sentence}`)
  return USAGE
}

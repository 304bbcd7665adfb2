/** `demo`: what the library does, on this machine alone. */
import { Readable } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import type { Call } from '../event/call.ts'
import { both, deadline, exponential, fullJitter } from '../policy/retryPolicy.ts'
import { secretFrom } from '../signing/secret.ts'
import { ndjson } from '../sources/ndjson.ts'
import { seededRandom } from '../testing/random.ts'
import { forward } from './forward.ts'
import { packageVersion } from './help.ts'
import { judge } from './listen.ts'
import type { OutputOptions } from './flags.ts'
import { eventOf, openReceiver } from './receiver.ts'
import type { Answer, Arrived } from './receiver.ts'
import { reporter, toJson } from './report.ts'
import type { Report } from './report.ts'
import { toWebhooks } from './send.ts'
import { addsUp, show } from './summary.ts'
import { FAULT, FINE, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

type Receiver = 'flaky' | 'slow'

const RECEIVERS: Readonly<Record<Receiver, string>> = {
  flaky: 'answers 503 to four requests of ten',
  slow: 'takes its time, and does not answer three requests of ten',
}

/** Milliseconds between two lines, so that people can follow. */
const PACE = 40
/** Milliseconds for one attempt; the default of the library is 5 s. */
const TIMEOUT = 500

const PEOPLE = [
  ['ada', 'analytical engines', 'Sketch of the Engine', 18.15],
  ['grace', 'compilers', 'The Education of a Computer', 19.52],
  ['sofia', 'spinning tops', 'Über die Reduction', 18.74],
  ['emmy', 'symmetries', 'Idealtheorie 🜁', 19.21],
  ['alan', 'machines', 'On Computable Numbers', 19.36],
  ['edsger', 'shortest paths', 'A Discipline of Programming', 19.76],
] as const

/** A visitor becomes a customer of a shop. */
const journey = ([name, team, book, total]: (typeof PEOPLE)[number]): ReadonlyArray<Call> => {
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

const EVENTS: ReadonlyArray<Call> = [
  ...PEOPLE.flatMap(journey),
  // Both receivers refuse an order whose total is negative.
  { type: 'track', userId: 'user-ada', event: 'Order Completed', properties: { book: 'None', total: -1 } },
  { type: 'identify', userId: 'user-grace', traits: { plan: 'librarian' } },
  { type: 'delete', userId: 'user-sofia' },
  { type: 'page', userId: 'user-emmy', name: 'Home', properties: { url: 'https://books.example/' } },
  { type: 'track', userId: 'user-alan', event: 'Book Rated', properties: { stars: 5 } },
  { type: 'delete', userId: 'user-edsger' },
]

/** What the demo sends: NDJSON lines with events of all seven kinds, and two lines that are wrong. */
export const sample = (): ReadonlyArray<string> => {
  const lines = EVENTS.map((event, at) =>
    JSON.stringify({ messageId: `demo-${String(at + 1).padStart(2, '0')}`, ...event }),
  )
  lines.splice(9, 0, '{"type":"track","userId":7,"event":"Order Completed"}')
  lines.splice(30, 0, '{"type":"identify","userId":"user-emmy","traits":{"plan":"reader"')
  return lines
}

const atAPace = async function* (lines: ReadonlyArray<string>): AsyncGenerator<string> {
  for (const line of lines) {
    await new Promise<void>((resolve) => {
      systemClock.schedule(PACE, resolve)
    })
    yield `${line}\n`
  }
}

const hashOf = (text: string): number => {
  let hash = 0
  for (const character of text) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0
  return hash
}

/** How a receiver answers the nth request with an event: the same in every demo. */
export const answerOf = (receiver: Receiver, id: string, n: number, isAbsurd: boolean): Answer => {
  const random = seededRandom(hashOf(`${receiver} ${id} ${String(n)}`))
  const fails = random() < (receiver === 'flaky' ? 0.4 : 0.3)
  const haste = random()
  const status = isAbsurd ? 422 : 200
  if (receiver === 'flaky') return { status: fails ? 503 : status, after: Math.round(2 + haste * 20) }
  return fails ? { status: 'silence', after: 0 } : { status, after: Math.round(60 + haste * 120) }
}

/** What was seen during the demo. */
const observations = () => ({
  requests: 0,
  verified: 0,
  /** Events that both receivers failed at first. */
  retried: new Set<string>(),
  /** Events that were delivered after the first attempt. */
  rescued: 0,
  /** Deliveries by URL. */
  deliveries: new Map<string, number>(),
})

type Seen = ReturnType<typeof observations>

const observe = (seen: Seen, report: Report): void => {
  if (report.t === 'waiting') seen.retried.add(report.id)
  if (report.t !== 'outcome' || report.url === undefined) return
  seen.deliveries.set(report.url, (seen.deliveries.get(report.url) ?? 0) + 1)
  if (report.n > 1) seen.rescued++
}

const introduce = (urls: ReadonlyArray<string>, lines: number, { out }: Terminal): void => {
  out.line(`ready ${urls.join(' ')}`)
  out.line('')
  out.line(
    `headrace ${packageVersion()} delivers events as signed webhooks. Two receivers, both on this machine:`,
  )
  for (const [name, text] of Object.entries(RECEIVERS))
    out.line(`  ${out.paint('bold', name.padEnd(6))} ${text}`)
  out.line(`${String(lines)} lines come in. Each event is sent to both; the first 2xx delivers it.`)
  out.line(
    'If both fail, the event waits and is tried again. Two lines are wrong, and both receivers refuse one event.',
  )
  out.line('')
}

const NEXT = `
Now with an event of your own. Start a receiver with
  npx headrace listen 7412
and in another terminal:
  echo '{"type":"track","userId":"u1","event":"Hello"}' | npx headrace send --to http://127.0.0.1:7412/hook`

/** `headrace demo` */
export const demoCommand = async ({ output }: OutputOptions, terminal: Terminal): Promise<number> => {
  const { out, err, host } = terminal
  const secret = secretFrom('a secret that both sides know')
  const sharedSecret = secret._tag === 'Right' ? secret.right : undefined
  const seen = observations()
  const requests = new Map<string, number>()

  const answer =
    (receiver: Receiver) =>
    (arrived: Arrived): Answer => {
      seen.requests++
      if (judge(sharedSecret, arrived).verdict === 'authentic') seen.verified++
      // A delete event has no message id in its body.
      const id = eventOf(arrived.body).id ?? arrived.body.toString('utf8').slice(0, 60)
      const n = (requests.get(`${receiver} ${id}`) ?? 0) + 1
      requests.set(`${receiver} ${id}`, n)
      return answerOf(receiver, id, n, arrived.body.includes('"total":-'))
    }

  const flaky = await openReceiver(0, answer('flaky'))
  const slow = await openReceiver(0, answer('slow'))
  const urls = [`${flaky.origin}/flaky`, `${slow.origin}/slow`]
  const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
  const lines = sample()
  if (output === 'lines') introduce(urls, lines.length, terminal)
  if (output === 'json') out.line(toJson({ t: 'ready', urls }))

  const stop = stopSignals(host)
  const write = reporter(terminal, output, nameOf)
  const { done } = forward({
    input: {
      name: undefined,
      lines: () => ndjson(Readable.from(atAPace(lines))),
      markAt: () => undefined,
      has: () => Promise.resolve(false),
    },
    open: toWebhooks(
      { ...(sharedSecret === undefined ? {} : { sharedSecret }), webhooks: urls.map((url) => ({ url })) },
      {
        timeout: TIMEOUT,
        retry: both(fullJitter(exponential({ base: 600 })), deadline(8_000)),
        random: seededRandom(20),
        logger: false,
      },
      1_000,
    ),
    grace: 2_000,
    stop,
    report: (report) => {
      observe(seen, report)
      write(report)
    },
    undelivered: () => undefined,
    onResumed: () => undefined,
    onInputError: () => undefined,
    caughtUp: out.caughtUp,
  })
  const { summary } = await done
  flaky.close()
  slow.close()
  stop.release()

  const { read, accepted, refused, rejected } = summary
  const first = [...seen.deliveries].map(([url, count]) => `${nameOf(url)} was first ${String(count)} times`)
  const story = [
    [
      'validate',
      `${String(read)} lines: ${String(accepted)} are events, ${String(refused)} were refused, each with its fault`,
    ],
    ['sign', `${String(seen.requests)} requests; the receivers verified ${String(seen.verified)}`],
    ['fan out', `each event to both, the first 2xx delivers it: ${first.join(', ')}`],
    [
      'retry',
      `${String(seen.retried.size)} events failed at both and were tried again; ${String(seen.rescued)} were delivered`,
    ],
    ['give up', `${String(rejected)} was answered 422 by both, which a retry cannot change`],
    ['account', show(summary)],
  ] as const
  if (output === 'json') out.line(toJson({ t: 'summary', ...summary }))
  if (output === 'quiet') err.line(`headrace: ${show(summary)}`)
  if (output === 'lines') {
    out.line('')
    for (const [title, text] of story) out.line(`${out.paint('bold', title.padEnd(9))} ${text}`)
    out.line(NEXT)
  }
  const unfinished = summary.abandoned + summary.waiting + summary.expired
  const isFine =
    addsUp(summary) && summary.delivered > 0 && unfinished === 0 && seen.verified === seen.requests
  return isFine ? FINE : FAULT
}

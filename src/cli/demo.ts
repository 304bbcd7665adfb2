/** `demo`: shows the library on this machine alone. */
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { systemClock } from '../core/clock.ts'
import type { Call } from '../event/model.ts'
import { both, deadline, exponential, fullJitter } from '../policy/retryPolicy.ts'
import { signatureOf } from '../signing/secret.ts'
import type { Misbehaviour } from '../testing/faults.ts'
import { loopbackReceiver, type Received } from '../testing/loopbackReceiver.ts'
import { seededRandom } from '../testing/random.ts'
import type { OptionsOf } from './flags.ts'
import { forward, type Job } from './forward.ts'
import { streamInput } from './input.ts'
import { outputOf } from './live.ts'
import { endingOf, showCauses, toJson, type Summary } from './report.ts'
import { toWebhooks } from './send.ts'
import { FAULT, FINE, aborted, stopSignals, type Host, type Terminal } from './terminal.ts'

/** Milliseconds between two lines, so that people can follow. */
const PACE = 40
/** Milliseconds for one attempt; the default of the library is 5 s. */
const DEMO_TIMEOUT = 500
/** Milliseconds for all attempts; the default of the library is 4 h. */
const DEMO_DEADLINE = 20_000
const DEMO_SECRET = 'a secret that both sides know'

/** A visitor becomes a customer of a shop. */
const journey = (name: string): ReadonlyArray<Call> => {
  const anonymousId = `visitor-${name}`
  const userId = `user-${name}`
  const properties = { book: 'Idealtheorie 🜁', total: 19.21 }
  return [
    { type: 'page', anonymousId, name: 'Home', properties: { url: 'https://books.example/' } },
    { type: 'page', anonymousId, name: 'Book', properties: { url: 'https://books.example/book' } },
    { type: 'track', anonymousId, event: 'Sign Up Started', properties: { form: 'short' } },
    { type: 'alias', previousId: anonymousId, userId },
    { type: 'identify', userId, traits: { name, plan: 'reader', email: `${name}@books.example` } },
    { type: 'group', userId, groupId: `team-${name}`, traits: { name: 'Readers' } },
    { type: 'screen', userId, name: 'Cart', context: { os: { name: 'Tablet OS', version: '7.1' } } },
    { type: 'track', userId, event: 'Product Added', properties },
    { type: 'track', userId, event: 'Order Completed', properties },
    { type: 'delete', userId },
  ]
}

/** Lines of events of all seven kinds, one that both receivers refuse, and two lines that are wrong. */
const sample = async function* (): AsyncGenerator<string> {
  const events = ['ada', 'grace', 'sofia', 'emmy', 'alan', 'edsger'].flatMap(journey)
  events[40] = { type: 'track', userId: 'user-alan', event: 'Order Completed', properties: { total: -1 } }
  const idOf = (at: number) => `demo-${String(at + 1).padStart(2, '0')}`
  const lines = events.map((event, at) => JSON.stringify({ messageId: idOf(at), ...event }))
  lines.splice(9, 0, '{"type":"track","userId":7,"event":"Order Completed"}')
  lines.splice(30, 0, '{"type":"identify","userId":"user-emmy","traits":{"plan":"reader"')
  for (const line of lines) {
    await new Promise<void>((resolve) => void systemClock.schedule(PACE, resolve))
    yield `${line}\n`
  }
}

/** How a receiver answers the nth request of an event: the same in every demo with a seed. */
const demoFault = (seed: number, name: string, body: string, n: number): Misbehaviour => {
  if (body.includes('"total":-')) return { do: 'status', code: 422, after: 20 }
  // The timestamp before the messageId is another in every demo.
  const messageId = body.slice(body.indexOf('"messageId"'))
  const random = seededRandom(crc32(`${name} ${messageId} ${String(n)}`) ^ seed)
  if (name === 'flaky') return { do: 'status', code: random() < 0.4 ? 503 : 200, after: 2 + random() * 20 }
  return random() < 0.3 ? { do: 'silence' } : { do: 'status', code: 200, after: 60 + random() * 120 }
}

const INTRODUCTION = `
62 lines come in, two of them wrong.
Each event goes to two receivers on this machine; the first 2xx delivers it:
  flaky  answers 503 to four requests of ten
  slow   takes its time, and does not answer three requests of ten
If both fail, it waits and is tried again. Both refuse one event for good.
`

const NEXT = `
Now with an event of your own: start npx headrace listen 7412 elsewhere, then
  echo '{"type":"track","userId":"u1","event":"Hello"}' |
    npx headrace send --to http://127.0.0.1:7412/hook`

const requestText = ({ method, path, rawHeaders, body }: Received): string => {
  const headers = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !/^(connection|host)$/i.test(name) ? [`  ${name}: ${String(rawHeaders[at + 1])}`] : [],
  )
  const head = `\nA request as it arrived. X-Signature is the HMAC-SHA1 of its body:`
  return [head, `  ${method} ${path}`, ...headers, `  ${String(body)}`].join('\n')
}

/** Calls what belongs to a key, on a terminal. Answers how to end that. */
const onKeys = (stdin: Host['stdin'] | undefined, keys: Readonly<Record<string, () => unknown>>) => {
  if (stdin?.isTTY !== true) return undefined
  const onData = (typed: unknown): void => {
    for (const key of String(typed)) keys[key]?.()
  }
  // Else keys come with the next line, and Ctrl-C is a signal.
  stdin.setRawMode?.(true)
  stdin.on('data', onData)
  return () => {
    stdin.off('data', onData).pause()
    stdin.setRawMode?.(false)
  }
}

export const demoCommand = async ({ output: form, seed, inspect }: OptionsOf<'demo'>, terminal: Terminal) => {
  const { out, err } = terminal
  const output = outputOf(form, terminal)
  const isTold = output === 'lines' || output === 'live'
  const requests = new Map<string, number>()
  let sent = 0
  let verified = 0
  let state: 'bad' | 'broken' | 'healthy' = 'bad'

  const answer = ({ path, body, headers }: Received): Misbehaviour => {
    const text = String(body)
    const n = (requests.get(path + text) ?? 0) + 1
    requests.set(path + text, n)
    sent++
    if (headers['x-signature'] === signatureOf(DEMO_SECRET, body)) verified++
    if (state === 'bad') return demoFault(seed, path.slice(1), text, n)
    return { do: 'status', code: state === 'broken' ? 503 : 200 }
  }
  const receivers = [await loopbackReceiver(answer), await loopbackReceiver(answer)]
  const urls = receivers.map(({ url }, at) => `${url}${at === 0 ? 'flaky' : 'slow'}`)
  // Names in place of the URLs.
  const line = (text: string): void => out.line(output === 'json' ? text : text.replaceAll(/http:\S+\//g, ''))
  const tell = (text: string): void => (isTold ? out.line(text) : undefined)
  tell(`ready ${urls.join(' ')}\n${INTRODUCTION}`)
  if (output === 'json') out.line(toJson({ t: 'ready', urls }))

  const told = { account: false }
  const tellAccount = (summary: Summary): void => {
    told.account = true
    const { accepted, rejected, delivered, expired, abandoned, waiting } = summary
    const ends = { delivered, rejected, expired, abandoned, waiting }
    const some = Object.entries(ends).filter(([, count]) => count > 0)
    const account = some.map(([end, count]) => `${String(count)} ${end}`).join(' + ') || '0 delivered'
    const all = verified === sent ? 'all' : String(verified)
    tell(`\n${account} = ${String(accepted)} events; ${String(sent)} requests, ${all} verified`)
  }
  const epilogue: Job['epilogue'] = async (summary, { dead, idle, stats }, stopped) => {
    tellAccount(summary)
    const example = receivers[0]?.received[0]
    if (example) tell(requestText(example))
    const [letter] = await dead.list({ limit: 1 })
    if (letter?.reason === 'ended') {
      line(`\nA dead letter, kept with its reason: ${showCauses(endingOf(letter.outcome).causes)}`)
      state = 'healthy'
      const before = stats().delivered
      await dead.redrive()
      await idle()
      const isDelivered = stats().delivered > before
      tell(`Both receivers take all now. It was redriven, and is ${isDelivered ? '' : 'not '}delivered.`)
    }
    tell(NEXT)
    if (inspect === undefined || !err.isTTY) return
    err.line('\nheadrace: the page stays open until Ctrl-C')
    await aborted(stopped)
  }

  const settings = { sharedSecret: DEMO_SECRET, webhooks: urls.map((url) => ({ url })) }
  const retry = both(fullJitter(exponential({ base: 600 })), deadline(DEMO_DEADLINE))
  const stop = stopSignals(terminal.host)
  const job: Job = {
    input: streamInput(() => Readable.from(sample())),
    open: toWebhooks(settings, { timeout: DEMO_TIMEOUT, retry, random: seededRandom(seed) }),
    maxWaiting: 1_000,
    grace: 2_000,
    retryFor: DEMO_DEADLINE,
    output,
    inspect,
    stop,
    // The summary is the last record for programs.
    ...(isTold && { epilogue }),
  }
  const q = stop.onSignal
  const keys = { f: () => (state = 'broken'), h: () => (state = 'healthy'), q, '\u0003': q }
  const release = onKeys(output === 'live' ? terminal.host.stdin : undefined, keys)
  if (release) err.line('Keys: f breaks both receivers, h heals them, q stops.\n')
  const { summary } = await forward(job, { ...terminal, out: { ...out, line } }).finally(async () => {
    release?.()
    await Promise.all(receivers.map(({ close }) => close()))
  })
  if (!told.account) tellAccount(summary)

  const { accepted, rejected, delivered } = summary
  return delivered > 0 && delivered + rejected === accepted && verified === sent ? FINE : FAULT
}

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
import { forward } from './forward.ts'
import { streamInput } from './input.ts'
import { toJson } from './report.ts'
import { toWebhooks } from './send.ts'
import { FAULT, FINE, type Terminal } from './terminal.ts'

/** Milliseconds between two lines, so that people can follow. */
const PACE = 40
/** Milliseconds for one attempt; the default of the library is 5 s. */
const DEMO_TIMEOUT = 500
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
  const lines = events.map((event, at) =>
    JSON.stringify({ messageId: `demo-${String(at + 1).padStart(2, '0')}`, ...event }),
  )
  lines.splice(9, 0, '{"type":"track","userId":7,"event":"Order Completed"}')
  lines.splice(30, 0, '{"type":"identify","userId":"user-emmy","traits":{"plan":"reader"')
  for (const line of lines) {
    await new Promise<void>((resolve) => void systemClock.schedule(PACE, resolve))
    yield `${line}\n`
  }
}

/** How a receiver answers the nth request with a body: the same in every demo. */
const demoFault = (name: string, body: string, n: number): Misbehaviour => {
  const random = seededRandom(crc32(`${name} ${body} ${String(n)}`))
  const code = body.includes('"total":-') ? 422 : 200
  if (name === 'flaky') return { do: 'status', code: random() < 0.4 ? 503 : code, after: 2 + random() * 20 }
  return random() < 0.3 ? { do: 'silence' } : { do: 'status', code, after: 60 + random() * 120 }
}

const INTRODUCTION = `
62 lines come in, two of them wrong.
Each event goes to two receivers on this machine; the first 2xx delivers it:
  flaky  answers 503 to four requests of ten
  slow   takes its time, and does not answer three requests of ten
If both fail, the event waits and is tried again. Both refuse one event for good.
`

const NEXT = `
Now with an event of your own. Start a receiver with npx headrace listen 7412, and in another terminal:
  echo '{"type":"track","userId":"u1","event":"Hello"}' | npx headrace send --to http://127.0.0.1:7412/hook`

export const demoCommand = async ({ output }: OptionsOf<'demo'>, terminal: Terminal): Promise<number> => {
  const { out } = terminal
  const requests = new Map<string, number>()
  let sent = 0
  let verified = 0

  const answer = ({ path, body, headers }: Received): Misbehaviour => {
    const text = String(body)
    const n = (requests.get(path + text) ?? 0) + 1
    requests.set(path + text, n)
    sent++
    if (headers['x-signature'] === signatureOf(DEMO_SECRET, body)) verified++
    return demoFault(path.slice(1), text, n)
  }
  const receivers = [await loopbackReceiver(answer), await loopbackReceiver(answer)]
  const urls = receivers.map(({ url }, at) => `${url}${at === 0 ? 'flaky' : 'slow'}`)
  if (output === 'lines') out.line(`ready ${urls.join(' ')}\n${INTRODUCTION}`)
  if (output === 'json') out.line(toJson({ t: 'ready', urls }))

  const settings = { sharedSecret: DEMO_SECRET, webhooks: urls.map((url) => ({ url })) }
  const retry = both(fullJitter(exponential({ base: 600 })), deadline(8_000))
  const job = {
    input: streamInput(Readable.from(sample())),
    open: toWebhooks(settings, { timeout: DEMO_TIMEOUT, retry, random: seededRandom(20) }),
    maxWaiting: 1_000,
    grace: 2_000,
    output,
  }
  // Names in place of the URLs.
  const line = (text: string): void => out.line(output === 'json' ? text : text.replaceAll(/http:\S+\//g, ''))
  const { summary } = await forward(job, { ...terminal, out: { ...out, line } })
  await Promise.all(receivers.map(({ close }) => close()))

  const { accepted, rejected, delivered } = summary
  if (output === 'lines') {
    const account = `${String(delivered)} delivered + ${String(rejected)} refused for good`
    const requests = `${String(sent)} requests, of which the receivers verified ${String(verified)}`
    out.line(`\n${account} = ${String(accepted)}; ${requests}\n${NEXT}`)
  }
  return delivered > 0 && delivered + rejected === accepted && verified === sent ? FINE : FAULT
}

/**
 * Kills a pipeline with SIGKILL again and again, and compares what it acknowledged with what its receivers took.
 *
 *     life (a process) ── requests ──▶ receiver ──▶ account ◀── NDJSON lines of the life: offered, accepted, outcome, summary
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import type { Random } from '../../src/core/clock.ts'
import { lmdbOutbox, type ItemCodec } from '../../src/outbox/lmdb/index.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { listen } from '../support/http.ts'
import { sized } from '../support/runs.ts'
import { nameOf } from './messages.js'

export const SIZE = {
  messages: sized({ short: 300, full: 1_500, long: 20_000 }),
  /** KILLS=30 has as many as the long profile, with fewer messages. */
  kills: Number(process.env['KILLS'] ?? sized({ short: 1, full: 3, long: 30 })),
}

/** Milliseconds for one test: generous, because no verdict depends on the speed of the machine. */
export const LIMIT = Math.max(sized({ short: 60_000, full: 600_000, long: 900_000 }), SIZE.kills * 30_000)
export const PIPELINE = fileURLToPath(new URL('pipeline.js', import.meta.url))
export type Said = Readonly<Record<string, unknown>>

/** What is wrong, as counts: all must be 0. */
export const NO_HARM = { missing: 0, altered: 0, resurrected: 0, dead: 0, strange: 0 }

interface Known {
  readonly body: string
  readonly id: string
  /** The lives in which it was taken, and those in which its end was told. */
  readonly takenIn: number[]
  readonly endedIn: number[]
}

/** What the receivers took and the lives told, of messages that each go to all these places. */
export const accountOf = (names: ReadonlyArray<string>, places: ReadonlyArray<string>) => {
  const sent = new Set(names)
  const offers = new Map<string, number>()
  const acknowledged = new Set<string>()
  const known = new Map<string, Known>()
  const byId = new Map<string, Known>()
  const harm = { ...NO_HARM }
  const figures = { delivered: 0, extra: 0, doubtful: 0, repeated: 0 }
  let life = 0
  const countIn = (lives: ReadonlyArray<number>): number => lives.filter((each) => each === life).length
  return {
    offered: (name: string): void => {
      const before = offers.get(name) ?? 0
      if (before > 0) figures.repeated++
      offers.set(name, before + 1)
    },
    acknowledged: (name: string) => acknowledged.add(name),
    isAcknowledged: (name: string): boolean => acknowledged.has(name),
    arrived: (place: string, name: string, id: string, body: string): void => {
      const found = known.get(`${place} ${name}`)
      if (found === undefined) {
        if (!sent.has(name) || !places.includes(place)) harm.strange++
        const first = { body, id, takenIn: [], endedIn: [] }
        known.set(`${place} ${name}`, first)
        byId.set(`${place} ${id}`, first)
        return
      }
      if (found.id !== id || found.body !== body) harm.altered++
      // An end that was told before the kill is stored, unless the message was offered again.
      if (found.endedIn.filter((each) => each < life).length >= (offers.get(name) ?? 0)) harm.resurrected++
    },
    taken: (place: string, name: string): void => {
      const found = known.get(`${place} ${name}`)
      if (found === undefined) return
      if (found.takenIn.length === 0) figures.delivered++
      else figures.extra++
      found.takenIn.push(life)
    },
    ended: (id: string, how: string, place = places[0] ?? ''): void => {
      const found = byId.get(`${place} ${id}`)
      if (found === undefined) harm.strange++
      else found.endedIn.push(life)
      if (how !== 'delivered') harm.dead++
    },
    nextLife: (): void => {
      for (const { takenIn, endedIn } of known.values())
        figures.doubtful += Math.max(0, countIn(takenIn) - countIn(endedIn))
      life++
    },
    harm: () => {
      const isMissing = (place: string) => (name: string) => !known.get(`${place} ${name}`)?.takenIn.length
      const missing = places.map((place) => [...acknowledged].filter(isMissing(place)).length)
      return { ...harm, missing: missing.reduce((sum, each) => sum + each, 0) }
    },
    figures: () => ({ ...figures, acknowledged: acknowledged.size }),
  }
}

export type Account = ReturnType<typeof accountOf>

/** Hears what a life offered, what was acknowledged, and how it ended. `told` gets all other lines. */
export const hearing =
  (account: Account, told: (said: Said) => void) =>
  (said: Said): void => {
    const [name, place] = [String(said['name']), said['destination']]
    if (said['t'] === 'offered') account.offered(name)
    else if (said['t'] === 'accepted') account.acknowledged(name)
    else if (said['t'] !== 'outcome') told(said)
    else {
      const at = typeof place === 'string' ? place : undefined
      account.ended(String(said['id']), String(said['outcome']), at)
    }
  }

type Posted = Readonly<{ event: string; messageId: string }>

/** A receiver that answers 503 now and then, and some requests not at all, so that something waits at each kill. */
export const openReceiver = async (
  account: Account,
  random: Random,
  holds: boolean,
  refuses: (name: string) => boolean = () => false,
) => {
  const refused = new Set<string>()
  const waiting = new Set<() => boolean>()
  let held = 0
  let isHealed = false
  const changed = (): void => {
    for (const isOver of waiting) if (isOver()) waiting.delete(isOver)
  }
  const until = (holdsNow: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      waiting.add(() => {
        if (holdsNow()) resolve()
        return holdsNow()
      })
      changed()
    })
  const answer = (place: string, text: string, response: ServerResponse): void => {
    // Only the pipeline under test posts here: an event, or a batch of messages.
    const posted = JSON.parse(text) as Posted | { readonly batch: ReadonlyArray<Posted> }
    const events = 'batch' in posted ? posted.batch : [posted]
    const key = `${place} ${events.map(({ event }) => event).join()}`
    for (const each of events) account.arrived(place, each.event, each.messageId, JSON.stringify(each))
    const chance = random()
    // The first message is held until the last life, so that none ends before its kill.
    const isFirst = events.some(({ event }) => event === nameOf(0))
    if (!isHealed && holds && (isFirst || (chance < 0.02 && held < 6))) {
      held++
      response.on('close', () => held--)
    } else if (events.some((e) => refuses(e.event)) || (!isHealed && chance > 0.96 && !refused.has(key))) {
      // Once each, so that no backoff grows long.
      refused.add(key)
      response.writeHead(503).end()
    } else {
      for (const { event } of events) account.taken(place, event)
      response.writeHead(200).end()
      changed()
    }
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer((request.url ?? '').slice(1), Buffer.concat(chunks).toString(), response))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
  })
  const { port, sockets, close } = await listen(server)
  server.on('connection', (socket) => socket.on('close', changed))
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${String(port)}/`,
    delivered: (count: number) => until(() => account.figures().delivered >= count),
    quiet: () => until(() => sockets.size === 0),
    heal: () => (isHealed = true),
  }
}

/** A process with it ends from inside on this signal, as a host does that exits while a write is under way. */
const EXIT_INSIDE = ['--import', "data:text/javascript,process.on('SIGUSR2', () => process.exit(7))"]

/** Starts Node with these arguments; `hear` gets each line of its stdout. It ends with the test at the latest. */
export const startLife = (args: ReadonlyArray<string>, hear: (said: Said) => void) => {
  const env = { PATH: process.env['PATH'] ?? '', WEB_KEY: 'wk' }
  const child = spawn(process.execPath, [...EXIT_INSIDE, ...args], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stdin.on('error', () => undefined)
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    // The kill may have cut a line. A whole one is an object that the process wrote.
    if (line.endsWith('}')) hear(JSON.parse(line) as Said)
  })
  const over = Promise.all([once(child, 'close'), once(lines, 'close')]).then(
    // What Node gives to a listener of `close`.
    ([[code, signal]]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null, stderr }),
  )
  return { child, over }
}
export type Life = ReturnType<typeof startLife>

export interface Stage {
  readonly names: ReadonlyArray<string>
  readonly account: Account
  readonly url: string
  readonly hear: (said: Said) => void
}

/** A host offers again what was not acknowledged. */
export const missing = ({ names, account }: Pick<Stage, 'names' | 'account'>): string =>
  names
    .filter((name) => !account.isAcknowledged(name))
    .map((name) => `${name}\n`)
    .join('')

export interface Pipeline {
  readonly places: ReadonlyArray<string>
  readonly messages?: number
  /** Whether the receiver leaves some requests without an answer; default true. */
  readonly holds?: boolean
  /** Starts the process for the first time (0), or again. */
  readonly begin: (life: number, stage: Stage) => Life
  /** Resolves when the last life may end; default at once. */
  readonly ending?: (life: Life) => Promise<void>
}

type Kill = (life: Life, delivered: (count: number) => Promise<void>) => Promise<void>

/** Kills while the process starts (a third), when so much was delivered, and while it closes (a few). */
const killPlan = (kills: number, deliveries: number, random: Random): ReadonlyArray<Kill> => {
  const early = Math.floor(kills / 3)
  const plan = Array.from({ length: kills - early }, () => Math.ceil(random() * deliveries * 0.9))
    .sort((one, other) => one - other)
    .map((count, at): Kill => async ({ child }, delivered) => {
      await delivered(count)
      if (at % 4 !== 1) return
      child.kill('SIGINT')
      await sleep(random() * 30)
    })
  for (let number = 0; number < early; number++)
    plan.splice(Math.floor(random() * (plan.length - 1)), 0, () => sleep(random() * (number === 0 ? 5 : 500)))
  return plan
}

/** Kills the pipeline as often as planned, and lets its last life end. */
export const killed = async (pipeline: Pipeline) => {
  const { places, messages = SIZE.messages, holds = true, begin, ending } = pipeline
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  const random = seededRandom(seed)
  const names = Array.from({ length: messages }, (_, number) => nameOf(number))
  const account = accountOf(names, places)
  const receiver = await openReceiver(account, random, holds)
  const told: Said[] = []
  const stage = { names, account, url: receiver.url, hear: hearing(account, (said) => told.push(said)) }
  let life = 0
  for (const kill of killPlan(SIZE.kills, (messages - 1) * places.length, random)) {
    const current = begin(life++, stage)
    await Promise.race([kill(current, receiver.delivered), current.over])
    // Before its first line has run, any signal ends a process.
    const ways = life % 3 === 2 ? ['SIGUSR2', 'SIGINT', 7] : ['SIGKILL', 'SIGINT']
    current.child.kill(life % 3 === 2 ? 'SIGUSR2' : 'SIGKILL')
    const { signal, code, stderr } = await current.over
    if (!ways.includes(signal ?? code ?? 0))
      throw new Error(`seed ${String(seed)}: it ended before it was killed, with ${String(code)}: ${stderr}`)
    await receiver.quiet()
    account.nextLife()
  }
  receiver.heal()
  const last = begin(life, stage)
  await Promise.race([ending?.(last), ...(ending === undefined ? [last.over] : []), last.over])
  const end = await last.over
  console.log(`seed ${String(seed)}, ${String(life)} kills, ${JSON.stringify(account.figures())}`)
  expect(told.filter(({ t }) => t === 'refused')).toEqual([])
  expect(account.harm()).toEqual(NO_HARM)
  const summary = told.findLast(({ t }) => t === 'summary') ?? {}
  return { account, figures: account.figures(), end, summary }
}

/** accepted = delivered + rejected + expired + dropped + abandoned + waiting, and all was delivered. */
export const expectAllDelivered = (totals: Said): void => {
  expect(totals).toMatchObject({ waiting: 0, rejected: 0, expired: 0, abandoned: 0 })
  expect(Number(totals['accepted'])).toBe(Number(totals['delivered']))
}

export const expectEmpty = async <A>(path: string, codec: ItemCodec<A>): Promise<void> => {
  const outbox = lmdbOutbox({ path, codec })
  expect(outbox.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: 0 })
  expect(await outbox.lease(Number.MAX_SAFE_INTEGER, { count: 10, retries: 10 })).toEqual([])
  await outbox.close()
}

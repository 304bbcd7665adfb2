/** The whole pipeline, killed again and again, and what is said of it at the end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, onTestFinished } from 'vitest'
import { payloadCodec } from '../../../src/destination/record.ts'
import type { ItemCodec } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { accountOf } from './account.ts'
import type { Account, Figures } from './account.ts'
import { killPlan } from './killPlan.ts'
import { inTime, liveUntil } from './lives.ts'
import type { End, Life, Said } from './lives.ts'
import { nameOf } from './messages.js'
import { countingReceiver } from './receiver.ts'
import type { CountingReceiver } from './receiver.ts'

/** How a destination keeps its events. */
export const EVENTS = payloadCodec

/** How large a run is: small in `npm test`, and as large as the promise in `npm run nightly`. */
export const SIZE =
  process.env['RUNS'] === '10000'
    ? { messages: 20_000, kills: 30, limit: 480_000 }
    : { messages: 2_000, kills: 5, limit: 110_000 }

/** A folder that is gone after the test. */
export const scratch = (): string => {
  const folder = mkdtempSync(`${tmpdir()}/headrace-pipeline-`)
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** A pipeline as a test sees it. */
export interface Stage {
  readonly names: ReadonlyArray<string>
  readonly account: Account
  readonly receiver: CountingReceiver
  /** Of the last life: what it said of itself. */
  readonly summary: () => Said | undefined
  /** Takes up a line of a life. */
  readonly hear: (said: Said) => void
}

export interface KilledOptions {
  readonly places: ReadonlyArray<string>
  readonly seed: number
  readonly messages: number
  readonly kills: number
  readonly limit: number
  /** Starts a life, from 0. */
  readonly begin: (life: number, stage: Stage) => Life | Promise<Life>
  /** Whether the receiver leaves some requests without an answer, one of them until the last life; default it does. */
  readonly holds?: boolean
  /** The account as the receiver sees it; default as it is. */
  readonly seen?: (account: Account) => Account
  /** Resolves when the last life may be asked to end; default at once. */
  readonly ending?: (life: Life, stage: Stage) => Promise<void>
}

export interface Killed extends Stage {
  /** How the last life ended. */
  readonly end: End
}

/** A seed of its own for every run; it is printed, and `SEED=… npm test` takes it again. */
export const newSeed = (): number => Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))

const word = (said: Said, name: string): string => {
  const value = said[name]
  return typeof value === 'string' ? value : ''
}

/** Tells an account what a process says. */
export const heardBy = (account: Account, refused: Said[]) => {
  let summary: Said | undefined
  return {
    summary: () => summary,
    hear: (said: Said): void => {
      if (said['t'] === 'offered') account.offered(word(said, 'name'))
      else if (said['t'] === 'accepted') account.acknowledged(word(said, 'name'))
      else if (said['t'] === 'refused') refused.push(said)
      else if (said['t'] === 'summary') summary = said
      else if (said['t'] === 'outcome') {
        const place = said['destination']
        account.ended(word(said, 'id'), word(said, 'outcome'), typeof place === 'string' ? place : undefined)
      }
    },
  }
}

/** Kills a pipeline as often as it is told, lets its last life come to its end, and answers what is known then. */
export const killed = async (options: KilledOptions): Promise<Killed> => {
  const {
    places,
    seed,
    messages,
    kills,
    limit,
    begin,
    seen,
    holds = true,
    ending = () => Promise.resolve(),
  } = options
  const random = seededRandom(seed)
  const names = Array.from({ length: messages }, (_, number) => nameOf(number))
  const account = accountOf(names, places)
  const receiver = await countingReceiver({
    account: seen?.(account) ?? account,
    random,
    ...(holds ? { stubborn: nameOf(0) } : {}),
  })
  onTestFinished(receiver.close)
  const refused: Said[] = []
  const stage: Stage = { names, account, receiver, ...heardBy(account, refused) }
  const plan = killPlan({ kills, deliveries: (messages - 1) * places.length, random })
  let life = 0

  const play = async (): Promise<End> => {
    for (const kill of plan) {
      await liveUntil(kill, await begin(life, stage), receiver)
      life++
      account.nextLife()
    }
    receiver.heal()
    const last = await begin(life, stage)
    await Promise.race([ending(last, stage), last.over])
    return last.over
  }

  const end = await inTime(limit, play(), () =>
    JSON.stringify({ seed, life, kills, messages, ...account.figures(), refused: refused.length }),
  )
  expect(refused).toEqual([])
  return { ...stage, end }
}

export const NO_HARM = { missing: 0, altered: 0, renamed: 0, resurrected: 0, dead: 0, strange: 0 }

/** accepted = delivered + rejected + expired + dropped + abandoned + waiting. */
export const addsUp = (totals: Said): boolean => {
  const count = (name: string): number => Number(totals[name])
  const ends = ['delivered', 'rejected', 'expired', 'dropped', 'abandoned', 'waiting'].map(count)
  return count('accepted') === ends.reduce((sum, each) => sum + each, 0)
}

/** Nothing waits in the folder of an outbox, nothing is dead, and nothing was put aside. */
export const isEmpty = async <A>(path: string, codec: ItemCodec<A>): Promise<void> => {
  const outbox = lmdbOutbox({ path, codec })
  const { waiting, dead, bytes, quarantined } = outbox.stats()
  const taken = await outbox.lease(Number.MAX_SAFE_INTEGER, { count: 10, retries: 10 })
  await outbox.close()
  expect({ waiting, dead, bytes, quarantined, taken }).toEqual({
    waiting: 0,
    dead: 0,
    bytes: 0,
    quarantined: 0,
    taken: [],
  })
}

/** Why something came more than once: what was in doubt when the process was killed, and what whoever sent it has repeated. */
export const explained = ({ doubtful, repeated }: Figures): number => doubtful + repeated

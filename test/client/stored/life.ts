/** One life of a client with a folder: a real disk, whose answers are waited for, and a time that stands still meanwhile. */
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Client } from '../../../src/client/Client.ts'
import { openFolder } from '../../../src/client/keeping/openFolder.ts'
import type { Message, MessageBatch } from '../../../src/client/Message.ts'
import { openClient } from '../../../src/client/openClient.ts'
import { settingsOf } from '../../../src/client/settingsOf.ts'
import { withTimeout } from '../../../src/sink/timeout.ts'
import { refused, retryable } from '../../../src/core/failure.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import type { StoredOutbox } from '../../../src/outbox/lmdb/storedOutbox.ts'
import { both, capDelay, deadline, exponential } from '../../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import type { Reply } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import type { Answer, World } from './worlds.ts'

const replies: Readonly<Record<Answer['says'], Reply>> = {
  yes: { verdict: right({ sink: 'scripted', status: 200 }) },
  busy: { verdict: left(retryable('status', { status: 503 })) },
  gone: { verdict: left(refused('status', { status: 410 })) },
  hangs: {},
}

/** The disk of a life. */
export interface LifeDisk {
  isDown: boolean
}

/** A life at work. */
export interface Life {
  readonly client: Client
  readonly disk: LifeDisk
  readonly store: StoredOutbox<MessageBatch>
  /** Moves the time, and has the disk answer everything after each step. */
  readonly pass: (ms: number) => Promise<void>
  readonly pending: () => number
  /** Whatever is sent is taken from now on. */
  readonly heal: () => void
  readonly now: () => number
  /** Requests that are under way. */
  readonly running: () => number
}

export interface LifeOptions {
  readonly path: string
  readonly start: number
  readonly given: World
  /** A request begins. Answers how many there were before. */
  readonly asked: (batch: MessageBatch) => number
  readonly ended: (outcome: Outcome<Message>) => void
}

const STEP = 20

/** Opens a client as `createClient` does, on a disk that can fail. */
export const openLife = ({ path, start, given, asked, ended }: LifeOptions): Life => {
  const clock = virtualClock({ start })
  const disk: LifeDisk = { isDown: false }
  let isHealed = false
  let open = 0
  let store: StoredOutbox<MessageBatch> | undefined

  const onDisk = async <T>(write: () => PromiseLike<T> | T): Promise<T> => {
    open++
    try {
      if (disk.isDown) throw new Error('no disk')
      return await write()
    } finally {
      open--
    }
  }
  const sink = scriptedSink<MessageBatch>({
    clock,
    reply: (batch) => {
      const answer = given.answers[asked(batch) % given.answers.length]
      if (isHealed || answer === undefined) return replies.yes
      return { ...replies[answer.says], ...(answer.after === undefined ? {} : { after: answer.after }) }
    },
  })
  const checked = settingsOf('a key', {
    clock,
    random: () => 0.5,
    logger: false,
    drainOnExit: false,
    timeout: 1_000,
    outbox: { path, maxCount: given.folderCount, maxBytes: given.folderBytes },
    retry: both(capDelay(2_000)(exponential({ base: 100 })), deadline(14_400_000)),
    size: given.size,
    flushAfter: given.flushAfter,
    concurrency: given.concurrency,
    overflow: given.overflow,
    maxCount: given.maxCount,
    ...(given.isKeyed ? { key: ({ userId }) => userId } : {}),
  })
  if (!isRight(checked)) throw new Error('the settings are wrong')
  const client = openClient(
    checked.right.settings,
    { sinkOn: () => withTimeout(1_000, { clock })(sink), closes: false },
    (settings) => {
      const real = openFolder(settings)
      if (real === undefined) throw new Error('it has no folder')
      store = real
      return {
        ...real,
        drafts: {
          ...real.drafts,
          write: (change) => onDisk(() => real.drafts.write(change)),
          bury: (remains) => onDisk(() => real.drafts.bury(remains)),
        },
        park: (entry, due) => onDisk(() => real.park(entry, due)),
        end: (entry, outcome) => onDisk(() => real.end(entry, outcome)),
      }
    },
  )
  client.outcomes$.subscribe(ended)
  if (store === undefined) throw new Error('it was not opened')

  const answered = async (): Promise<void> => {
    do await clock.settle()
    while (open > 0)
    await clock.settle()
  }
  return {
    client,
    disk,
    store,
    pending: clock.pending,
    now: clock.now,
    running: sink.running,
    heal: () => {
      isHealed = true
    },
    pass: async (ms) => {
      await answered()
      for (let passed = 0; passed < ms; passed += STEP) {
        clock.tick(Math.min(STEP, ms - passed))
        await answered()
      }
    },
  }
}

import { lookup } from '../../core/lookup.ts'
import { abandoned, dropped } from '../../core/outcome.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Failure } from '../../core/failure.ts'
import type { LogEvent, Listener } from '../../log/logEvent.ts'
import type { Hot } from '../../log/streams.ts'
import type { Accounts } from './accounts.ts'
import type { Flushing, Stretch } from './flushing.ts'
import type { Message, MessageBatch } from '../Message.ts'
import { dealOut } from './dealOut.ts'

/** What endings work with. */
export interface EndingsOptions {
  readonly accounts: Accounts
  readonly flushes: Flushing
  readonly outcomes: Hot<Outcome<Message>>
  readonly onEvent: Listener
  readonly hears: (tag: LogEvent['_tag']) => boolean
  readonly now: () => number
  /** Whether the outbox may hold batches of an earlier life, and whether their messages are in the books already. */
  readonly restores: 'counted' | 'uncounted' | false
  /** Room was made. */
  readonly freed: () => void
}

/** How messages end. */
export interface Endings {
  /** A batch was closed: from here on it ends as a whole. */
  readonly begin: (batch: MessageBatch) => void
  /** The outbox failed to say that it keeps the batch, so it may come to have it twice. */
  readonly doubt: (batch: MessageBatch) => void
  /** A batch goes out. If it is of an earlier life, its messages are in the books from now on. */
  readonly sending: (batch: MessageBatch) => void
  /** Of a batch, once: what comes again for the same batch is passed over. `last` as in `dealOut`. */
  readonly end: (outcome: Outcome<MessageBatch>, last?: Failure) => void
  /** Messages that never came into a batch. */
  readonly drop: (messages: ReadonlyArray<Message>) => void
  /** One that was accepted only to be dropped. */
  readonly dropNewcomer: (message: Message) => void
  /** Whether somebody is being told of a message that was dropped: whoever sends it again inside of that would go on for ever. */
  readonly tellsOfDrop: () => boolean
  /** Whether a closed batch has not ended. */
  readonly isAnyLive: () => boolean
  /** Batches that have not ended. */
  readonly live: () => ReadonlyArray<MessageBatch>
  /** Hands back those of them that have not ended. */
  readonly abandon: (batches: ReadonlyArray<MessageBatch>) => void
  /** What was abandoned. */
  readonly abandoned: () => ReadonlyArray<Message>
}

/**
 * A store that failed may come to have a batch twice, and the second end comes long after the first, or never. So many ids are remembered
 * for that.
 */
const MOST_DOUBTED = 1_000

/** Deals out the outcomes of batches to their messages: each has exactly one, and the accounts change as it is told. */
export const endings = (options: EndingsOptions): Endings => {
  const { accounts, flushes, outcomes, onEvent, hears, now, restores, freed } = options
  const live = lookup<{ readonly batch: MessageBatch; readonly stretch: Stretch }>()
  /** Batches of an earlier life whose messages are in the books by now. */
  const resumed = lookup<true>()
  const doubted = new Set<string>()
  const back: Message[] = []
  let tellsOfDrop = false

  const endOne = (outcome: Outcome<Message>): void => {
    accounts.end(outcome)
    if (outcome._tag === 'Abandoned') back.push(outcome.item)
    // The logger has nothing to say of a delivery.
    if (outcome._tag !== 'Delivered' || hears('Ended')) {
      const before = tellsOfDrop
      tellsOfDrop ||= outcome._tag === 'Dropped'
      onEvent({ _tag: 'Ended', at: now(), outcome })
      tellsOfDrop = before
    }
    outcomes.next(outcome)
  }

  const sending = ({ id, members }: MessageBatch): void => {
    if (restores !== 'uncounted' || live.get(id) !== undefined) return
    if (doubted.has(id) || resumed.get(id) !== undefined) return
    resumed.set(id, true)
    for (const message of members) accounts.accept(message)
  }

  const end = (outcome: Outcome<MessageBatch>, last?: Failure): void => {
    const { id, members } = outcome.item
    const known = live.get(id)
    if (known === undefined) {
      if (restores === false || doubted.has(id)) return
      // It may end without having been sent: its deadline was over, or it is handed back.
      sending(outcome.item)
      resumed.delete(id)
    }
    live.delete(id)
    if (outcome._tag === 'Delivered' && !outcomes.heard() && !hears('Ended')) accounts.endAll(outcome)
    else for (const each of dealOut(outcome, last)) endOne(each)
    if (known !== undefined) flushes.left(known.stretch, members.length)
    freed()
  }

  return {
    begin: (batch) => {
      live.set(batch.id, { batch, stretch: flushes.current() })
    },
    doubt: ({ id }) => {
      doubted.add(id)
      // A set keeps its order, so the first is the oldest.
      const [oldest] = doubted
      if (doubted.size > MOST_DOUBTED && oldest !== undefined) doubted.delete(oldest)
    },
    sending,
    end,
    drop: (messages) => {
      const stretch = flushes.current()
      for (const message of messages) endOne(dropped(message, 0, 'dropOldest'))
      flushes.left(stretch, messages.length)
      freed()
    },
    dropNewcomer: (message) => {
      endOne(dropped(message, 0, 'dropNewest'))
      freed()
    },
    tellsOfDrop: () => tellsOfDrop || outcomes.current()?._tag === 'Dropped',
    isAnyLive: () => live.size() > 0,
    live: () => live.values().map(({ batch }) => batch),
    abandon: (batches) => {
      for (const batch of batches) if (live.get(batch.id) !== undefined) end(abandoned(batch, 0, undefined))
    },
    abandoned: () => back,
  }
}

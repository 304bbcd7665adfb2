import { frameBytes } from '../../event/payload.ts'
import { holds, same } from './assert.ts'
import { bytesOf, isEnd, maxBytesOf, play, worlds } from './batchWorld.ts'
import type { Batched, Batcher, BatchWorld, Command, Item, Trace } from './batchWorld.ts'
import { lawsOver, type Law } from './law.ts'

/** Whether a batch was allowed to close when it did, after a batch that closed at `before`; `next` is the item after it. */
const mayClose = (
  { items, closedBy, at, during }: Batched,
  before: number,
  next: Item | undefined,
  { settings, commands }: BatchWorld,
): boolean => {
  const first = items[0]?.at ?? NaN
  const command = commands[during]?.do
  const bytes = bytesOf(items, settings)
  const maxBytes = maxBytesOf(settings)
  switch (closedBy) {
    case 'count':
      return items.length === settings.maxCount
    case 'bytes':
      return bytes === maxBytes || (next !== undefined && bytes + 1 + next.size > maxBytes)
    case 'delay': {
      const from = settings.delayFrom === 'firstItem' ? first : before
      return at === Math.max(from + (settings.maxDelay ?? Infinity), first)
    }
    case 'flush':
      return command === 'flush'
    case 'end':
      return command === 'complete' || command === 'error'
    case 'retry':
      return false
  }
}

const silent = (): void => undefined
const pause: Command = { do: 'advance', ms: 0 }

/** The laws over worlds in which commands come one after another. */
const plainLaws = (make: Batcher): ReadonlyArray<Law> =>
  lawsOver('batch', worlds(false), (world, { log }) => play(make, world, log), {
    'too-large-is-refused': {
      statement: 'What is too large for any batch is refused at once, and the open batch does not notice.',
      situations: ['too large while a batch is open'],
      check: ({ emitted, tooLarge, batches, rests }, { settings, commands }, { reach }) => {
        const maxBytes = maxBytesOf(settings)
        const refused = emitted.flatMap(({ kind, value, at }) => (kind === 'refused' ? [[value, at]] : []))
        const expected = tooLarge.map((item) => [
          [`m${String(item.n)}`, bytesOf([item], settings), maxBytes],
          item.at,
        ])
        same(refused, expected)
        const isLarge = (each: Command): boolean => each.do === 'offer' && each.size > settings.room
        if (rests.some(({ open }, at) => open.length > 0 && commands.slice(at + 1, at + 2).some(isLarge)))
          reach('too large while a batch is open')
        const without = commands.map((each) => (isLarge(each) ? pause : each))
        const shape = (each: Trace['batches']) =>
          each.map(({ items, at, during, closedBy }) => [items.map(({ size }) => size), at, during, closedBy])
        same(shape(batches), shape(play(make, { settings, commands: without }, silent).batches))
      },
    },
    'full-leaves-at-once': {
      statement: 'A batch that is full by count or by bytes waits no longer.',
      situations: ['full by count', 'full by bytes'],
      check: ({ batches, rests }, { settings }, { reach }) => {
        for (const { closedBy } of batches)
          if (closedBy === 'count' || closedBy === 'bytes') reach(`full by ${closedBy}`)
        for (const { open } of rests) {
          holds(open.length < (settings.maxCount ?? Infinity), `${String(open.length)} items wait`)
          const bytes = bytesOf(open, settings) - frameBytes(settings.frame)
          holds(open.length === 0 || bytes < settings.room, `${String(bytes)} bytes wait`)
        }
      },
    },
    'lefts-pass': {
      statement: 'What has ended already passes at once.',
      situations: ['a left'],
      check: ({ emitted, lefts }, _, { reach }) => {
        if (lefts.length > 0) reach('a left')
        same(
          emitted.filter(({ kind }) => kind === 'left'),
          lefts,
        )
      },
    },
    'delay-holds': {
      statement: 'No item waits longer than the maximum delay.',
      situations: ['closed by delay'],
      check: ({ batches, rests }, { settings }, { reach }) => {
        const maxDelay = settings.maxDelay ?? Infinity
        for (const { items, at, closedBy } of batches) {
          if (closedBy === 'delay') reach('closed by delay')
          for (const item of items)
            holds(at - item.at <= maxDelay, `an item waited ${String(at - item.at)} ms`)
        }
        for (const { open, at, hasEnded } of rests)
          holds(hasEnded || at - (open[0]?.at ?? at) < maxDelay, 'an item still waits after the delay')
      },
    },
    'nothing-stays-behind': {
      statement:
        'A flush, a completion and an error leave nothing behind; an unsubscription hands it back once.',
      situations: ['a flush of items', 'handed back', 'a completion or an error with items'],
      check: ({ emitted, rests, handedBack }, { commands }, { reach }) => {
        const end = commands.findIndex(isEnd)
        const open = rests[end - 1]?.open ?? []
        commands.slice(0, end).forEach((command, at) => {
          if (command.do !== 'flush') return
          same(rests[at]?.open, [])
          if ((rests[at - 1]?.open.length ?? 0) > 0) reach('a flush of items')
        })
        if (commands[end]?.do === 'unsubscribe') {
          same(handedBack, open.length === 0 ? [] : [open])
          if (open.length > 0) reach('handed back')
          holds(!emitted.some(({ during }) => during >= end), 'something came out after the unsubscription')
        } else {
          same([rests.at(-1)?.open, handedBack], [[], []])
          if (open.length > 0) reach('a completion or an error with items')
        }
      },
    },
    'closes-for-its-cause': {
      statement: 'A batch closes for the cause that it names, and no sooner.',
      situations: ['count', 'bytes', 'delay', 'flush', 'end'],
      check: ({ batches, taken }, world, { reach }) => {
        let before = 0
        let count = 0
        for (const batch of batches) {
          count += batch.items.length
          reach(batch.closedBy)
          holds(mayClose(batch, before, taken[count], world), `closed by ${batch.closedBy} too soon`)
          before = batch.at
        }
      },
    },
  })

/** The laws over worlds in which commands also come from within emissions. */
const nestedLaws = (make: Batcher): ReadonlyArray<Law> =>
  lawsOver('batch', worlds(true), (world, { log }) => play(make, world, log), {
    'nothing-lost': {
      statement: 'What is taken in comes out once, in order and as it is, or is handed back.',
      situations: ['two batches', 'handed back'],
      check: ({ batches, handedBack, taken }, _, { reach }) => {
        if (batches.length > 1) reach('two batches')
        if (handedBack.length > 0) reach('handed back')
        const out = [...batches.flatMap(({ items }) => items), ...handedBack.flat()]
        same(out, taken)
        holds(
          out.every((item, at) => item === taken[at]),
          'an item is a copy',
        )
      },
    },
    'size-is-exact': {
      statement: 'No batch is empty or too large, and its size is that of its body.',
      situations: ['a full body'],
      check: ({ batches }, { settings }, { reach }) => {
        const maxBytes = maxBytesOf(settings)
        for (const { items, byteLength, bodyBytes } of batches) {
          const bytes = bytesOf(items, settings)
          if (bytes === maxBytes) reach('a full body')
          holds(items.length > 0, 'a batch is empty')
          holds(items.length <= (settings.maxCount ?? Infinity), `${String(items.length)} members`)
          holds(bytes <= maxBytes, `a body has ${String(bytes)} bytes`)
          same([byteLength, bodyBytes], [bytes, bytes])
        }
      },
    },
    'own-id': {
      statement: 'Every batch has an id of its own.',
      situations: ['two batches'],
      check: ({ batches }, _, { reach }) => {
        if (batches.length > 1) reach('two batches')
        same(new Set(batches.map(({ id }) => id)).size, batches.length)
      },
    },
    'ends-once': {
      statement: 'It ends once, as its source ends, and nothing comes out afterwards.',
      situations: ['complete', 'error', 'unsubscribe'],
      check: ({ emitted, end }, _, { reach }) => {
        const kinds = emitted.map(({ kind }) => kind)
        const ends = kinds.filter((kind) => kind === 'complete' || kind === 'error')
        holds(ends.length <= 1, 'it ended twice')
        if (ends.length === 1) same(kinds.at(-1), ends[0])
        reach(end)
        same(ends, end === 'unsubscribe' ? [] : [end])
      },
    },
    'one-timer': {
      statement: 'It has one timer at most, none while nothing waits, and none after the end.',
      situations: ['a timer'],
      check: ({ rests }, { settings: { maxDelay, maxCount } }, { reach }) => {
        for (const { timers, open, hasEnded } of rests) {
          const isIdle = hasEnded || open.length === 0 || maxDelay === null || maxCount === 1
          if (timers > 0) reach('a timer')
          holds(
            timers <= (isIdle ? 0 : 1),
            `${String(timers)} timers while ${String(open.length)} items wait`,
          )
        }
      },
    },
    'wall-clock-is-free': {
      statement: 'The same commands give the same, whatever the wall clock does.',
      situations: ['a step of the wall clock'],
      check: (trace, { settings, commands }, { reach }) => {
        if (commands.some((each) => each.do === 'wall')) reach('a step of the wall clock')
        const steady = commands.map((each) => (each.do === 'wall' ? pause : each))
        same(play(make, { settings, commands: steady }, silent), trace)
      },
    },
    'no-emission-within-another': {
      statement: 'What is offered within an emission comes out after it.',
      situations: ['offered within an emission'],
      check: ({ isNested, batches, rests, taken }, { commands }, { reach }) => {
        holds(!isNested, 'an emission came within another')
        const offers = commands.filter((each) => each.do === 'offer').length
        if (rests.length > 0 && taken.length > offers) reach('offered within an emission')
        for (const { items, offered } of batches)
          for (const { n } of items) holds(n < offered, 'an item came out before it was offered')
      },
    },
  })

/**
 * Laws for an operator that gathers payloads into batches: nothing is lost, no batch is too large, none waits too long.
 *
 * @example
 * import { batch } from 'headrace'
 * import { batchLaws, checkLaws } from 'headrace/testing/laws'
 *
 * const reports = await checkLaws(batchLaws(batch), { runs: 20, seed: 1 })
 * console.log(reports.every(({ result }) => result === 'kept')) // => true
 */
export const batchLaws = (makeBatch: Batcher): ReadonlyArray<Law> => [
  ...nestedLaws(makeBatch),
  ...plainLaws(makeBatch),
]

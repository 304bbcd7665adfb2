import { bodyOf } from '../../event/payload.ts'
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

/** The world, with each command that `isLeftOut` in the place of a pause. */
const without = ({ settings, commands }: BatchWorld, isLeftOut: (each: Command) => boolean): BatchWorld => ({
  settings,
  commands: commands.map((each) => (isLeftOut(each) ? { do: 'advance', ms: 0 } : each)),
})

const silent = (): void => undefined

/** The laws over worlds in which commands come one after another. */
const plainLaws = (make: Batcher): ReadonlyArray<Law> =>
  lawsOver('batch', worlds(false), (world, { log }) => play(make, world, log), {
    'passes-what-fits-no-batch': {
      statement:
        'What has ended already, or is too large for any batch, comes out at once, and the open batch does not notice.',
      situations: ['left while a batch is open', 'refused while a batch is open'],
      check: ({ emitted, passing, batches, rests }, world, { reach }) => {
        const { settings } = world
        for (const { kind, during } of passing)
          if ((rests[during]?.open.length ?? 0) > 0) reach(`${kind} while a batch is open`)
        same(
          emitted.filter(({ kind }) => kind === 'left' || kind === 'refused'),
          passing,
        )
        const isPassing = (each: Command): boolean =>
          each.do === 'left' || (each.do === 'offer' && each.size > settings.room)
        const shape = (each: Trace['batches']) =>
          each.map(({ items, at, during, closedBy }) => [items.map(({ size }) => size), at, during, closedBy])
        same(shape(batches), shape(play(make, without(world, isPassing), silent).batches))
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
      statement: 'A batch has an id of its own, is not empty, not too large, and as large as it says.',
      situations: ['two batches', 'a full body'],
      check: ({ batches }, { settings }, { reach }) => {
        const maxBytes = maxBytesOf(settings)
        if (batches.length > 1) reach('two batches')
        same(new Set(batches.map(({ id }) => id)).size, batches.length)
        for (const batch of batches) {
          const bytes = bytesOf(batch.items, settings)
          if (bytes === maxBytes) reach('a full body')
          holds(batch.items.length > 0, 'a batch is empty')
          holds(batch.items.length <= (settings.maxCount ?? Infinity), 'a batch has too many members')
          holds(bytes <= maxBytes, `a body has ${String(bytes)} bytes`)
          same([batch.byteLength, Buffer.byteLength(bodyOf(batch, 0))], [bytes, bytes])
        }
      },
    },
    'no-needless-wait': {
      statement: 'No item waits longer than the maximum delay, and none in a batch that is full.',
      situations: ['count', 'bytes', 'delay'],
      check: ({ batches, rests }, { settings }, { reach }) => {
        const maxDelay = settings.maxDelay ?? Infinity
        for (const { items, at, closedBy } of batches) {
          reach(closedBy)
          holds(at - (items[0]?.at ?? at) <= maxDelay, 'an item waited longer than the delay')
        }
        for (const { open, at, hasEnded } of rests) {
          const [first] = open
          if (first === undefined || hasEnded) continue
          holds(at - first.at < maxDelay, 'an item still waits after the delay')
          holds(open.length < (settings.maxCount ?? Infinity), `${String(open.length)} items wait`)
          holds(bytesOf(open, settings) < maxBytesOf(settings), 'a full body waits')
        }
      },
    },
    'ends-once': {
      statement: 'It ends once, as its source ends, and nothing comes out afterwards.',
      situations: ['complete', 'error', 'unsubscribe'],
      check: ({ emitted, end }, _, { reach }) => {
        const kinds: ReadonlyArray<string> = emitted.map(({ kind }) => kind)
        const ends = kinds.filter((kind) => kind === 'complete' || kind === 'error')
        reach(end)
        same(ends, end === 'unsubscribe' ? [] : [end])
        holds(ends.length === 0 || kinds.at(-1) === end, 'something came out after the end')
      },
    },
    'one-timer': {
      statement: 'It has one timer at most, none while nothing waits, and none after the end.',
      situations: ['a timer'],
      check: ({ rests }, { settings: { maxDelay, maxCount } }, { reach }) => {
        for (const { timers, open, hasEnded } of rests) {
          const isIdle = hasEnded || open.length === 0 || maxDelay === null || maxCount === 1
          if (timers > 0) reach('a timer')
          holds(timers <= (isIdle ? 0 : 1), `${String(timers)} timers, ${String(open.length)} items wait`)
        }
      },
    },
    'wall-clock-is-free': {
      statement: 'The same commands give the same, whatever the wall clock does.',
      situations: ['a step of the wall clock'],
      check: (trace, world, { reach }) => {
        const isWall = (each: Command): boolean => each.do === 'wall'
        if (world.commands.some(isWall)) reach('a step of the wall clock')
        same(play(make, without(world, isWall), silent), trace)
      },
    },
    'no-emission-within-another': {
      statement: 'What is offered within an emission comes out after it.',
      situations: ['offered within an emission'],
      check: ({ isNested, taken }, { commands }, { reach }) => {
        const offers = commands.filter((each) => each.do === 'offer').length
        if (taken.length > offers) reach('offered within an emission')
        holds(!isNested, 'an emission came within another')
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
